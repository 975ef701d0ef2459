"""``python -m mmdbounds`` is the command ``mmdbounds``."""

from mmdbounds.cli.main import main

if __name__ == "__main__":
    main()
