"""Studies on real data: programs of minutes to hours whose tables are kept in `studies/results`.

Run from the top of the repository, where `mmdbounds` is installed:

    python -m studies.coverage --data FOLDER
    python -m studies.forest_gaps --data FOLDER

Every trial is one line in a file of records. A run that was stopped continues where it was, and any
trial can be run again alone: its seed follows from its setting and its number.
"""
