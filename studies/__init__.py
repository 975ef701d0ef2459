"""Studies by simulation: programs of minutes to hours whose tables are kept in `studies/results`.

Run from the top of the repository, where `mmdbounds` is installed:

    python -m studies.coverage --data FOLDER
    python -m studies.forest_gaps --data FOLDER
    python -m studies.type_one
    python -m studies.power --data FOLDER
    python -m studies.confidence_coverage
    python -m studies.convergence
    python -m studies.bio_reading --data FOLDER

Every trial is one line in a file of records. A run that was stopped resumes where it stopped, and any trial
can be run again alone: its seed depends only on its setting and its number.
"""
