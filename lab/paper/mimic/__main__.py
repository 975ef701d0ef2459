"""``python -m lab.paper.mimic``: the pipeline as a command.

Exit codes: 0 done; 2 wrong arguments or unusable data (one line says what); 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from lab.paper.mimic.cohort import NEGATIVES, SEVERAL, UNCERTAIN, CohortRules
from lab.paper.mimic.pipeline import carry_out
from lab.paper.mimic.plan import make_plan
from lab.paper.mimic.split import SHARES
from lab.paper.mimic.train import CLASS_WEIGHTS, CRITERIA, TrainingRules
from mmdbounds.errors import MmdBoundsError

COMMAND = "python -m lab.paper.mimic"
EXIT_WRONG, EXIT_INTERRUPTED = 2, 130


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_WRONG, f"mmdbounds: {message}. See `{COMMAND} --help`.\n")


def parser() -> argparse.ArgumentParser:
    """Return the options; their defaults are those of the functions behind them."""
    made = _Parser(prog=COMMAND, description="Logits of held-out MIMIC-CXR images, for `mmdbounds evaluate`.")
    made.add_argument(
        "folder", help="MIMIC-CXR-JPG: files/ and the tables mimic-cxr-*-{metadata,chexpert}.csv.gz"
    )
    made.add_argument("--weights", required=True, help="file with ImageNet weights of a DenseNet-121 (.pth)")
    made.add_argument("--out", required=True, help="file to write (.npz)")
    made.add_argument("--admissions", help="MIMIC-IV's hosp/admissions.csv.gz, or its folder [in FOLDER]")
    made.add_argument(
        "--work", help="folder for images and checkpoint; a stopped run resumes from it [beside OUT]"
    )
    made.add_argument("--sha256", help="digest that the weights must have")
    made.add_argument("--dry-run", action="store_true", help="check, print the plan and the counts, and stop")
    _add_cohort(made.add_argument_group("cohort"))
    _add_training(made.add_argument_group("network"))
    return made


def _add_cohort(group: Any) -> None:
    rules = CohortRules()
    shown = "%(default)s"
    group.add_argument(
        "--views", nargs="+", default=list(rules.views), help="views that count as frontal [AP PA]"
    )
    group.add_argument("--label", default=rules.label, help=f"column of the label table to predict [{shown}]")
    group.add_argument(
        "--negatives",
        choices=NEGATIVES,
        default=rules.negatives,
        help=f"reports that count as negative [{shown}]",
    )
    group.add_argument(
        "--uncertain",
        choices=UNCERTAIN,
        default=rules.uncertain,
        help=f"what becomes of uncertain labels [{shown}]",
    )
    group.add_argument(
        "--x-race", default=rules.x_race, help=f"prefix of the races that make group X [{shown}]"
    )
    group.add_argument(
        "--y-race", default=rules.y_race, help=f"prefix of the races that make group Y [{shown}]"
    )
    group.add_argument(
        "--several",
        choices=SEVERAL,
        default=rules.several,
        help=f"what becomes of patients with several races [{shown}]",
    )
    group.add_argument(
        "--shares",
        nargs=3,
        type=float,
        default=list(SHARES),
        help="shares of the patients in training, validation and test [0.6 0.2 0.2]",
    )
    group.add_argument("--split-seed", type=int, default=0, help=f"seed of the split [{shown}]")
    group.add_argument(
        "--allow-missing", action="store_true", help="leave out images whose files are missing"
    )
    group.add_argument(
        "--max-damaged", type=int, default=0, help=f"most unreadable images to leave out [{shown}]"
    )


def _add_training(group: Any) -> None:
    rules = TrainingRules()
    shown = "%(default)s"
    group.add_argument("--size", type=int, default=224, help=f"side of the images in pixels [{shown}]")
    group.add_argument(
        "--n-epochs", type=int, default=rules.n_epochs, help=f"passes over the training images [{shown}]"
    )
    group.add_argument("--batch-size", type=int, default=rules.batch_size, help=f"images per batch [{shown}]")
    group.add_argument("--learning-rate", type=float, default=rules.learning_rate, help=f"of Adam [{shown}]")
    group.add_argument(
        "--class-weights",
        choices=CLASS_WEIGHTS,
        default=rules.class_weights,
        help=f"weights of the classes in the loss [{shown}]",
    )
    group.add_argument(
        "--choose", choices=CRITERIA, default=rules.choose, help=f"criterion for the best epoch [{shown}]"
    )
    group.add_argument("--mixed-precision", action="store_true", help="train in bfloat16 where it is safe")
    group.add_argument("--seed", type=int, default=rules.seed, help=f"seed of the training [{shown}]")
    group.add_argument("--device", default="auto", help=f"auto, cpu, cuda, cuda:1, ... [{shown}]")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; a user's mistake is one line on stderr."""
    given = parser().parse_args(arguments)
    try:
        plan = make_plan(
            given.folder,
            given.weights,
            given.out,
            rules=_rules(CohortRules, given),
            training=_rules(TrainingRules, given),
            seed=given.split_seed,
            **{name: getattr(given, name) for name in _PASSED_ON},
        )
        if given.dry_run:
            for line in plan.lines():
                _say(line)
        else:
            carry_out(plan, _say)
    except MmdBoundsError as error:
        sys.stderr.write(f"mmdbounds: {' '.join(str(error).split())}\n")
        return EXIT_WRONG
    except OSError as error:  # a full or vanished disk: unreadable files have their own messages
        sys.stderr.write(f"mmdbounds: cannot continue: {error.strerror or type(error).__name__}.\n")
        return EXIT_WRONG
    except KeyboardInterrupt:
        sys.stderr.write("mmdbounds: interrupted. The same command resumes where it stopped.\n")
        return EXIT_INTERRUPTED
    return 0


_PASSED_ON = ("admissions", "work", "sha256", "shares", "size", "max_damaged", "allow_missing", "device")


def _rules(kind: type[Any], given: argparse.Namespace) -> Any:
    """Return rules from the options of the same names."""
    values = {name: getattr(given, name) for name in kind.__dataclass_fields__}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
