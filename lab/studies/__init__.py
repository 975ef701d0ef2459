"""Studies by simulation: programs of minutes to hours whose tables are kept in `lab/studies/results`.

Run from the top of the repository, where `mmdbounds` is installed:

    python -m lab.studies.coverage --data FOLDER
    python -m lab.studies.forest_gaps --data FOLDER
    python -m lab.studies.type_one
    python -m lab.studies.power --data FOLDER
    python -m lab.studies.confidence_coverage
    python -m lab.studies.convergence
    python -m lab.studies.bio_reading --data FOLDER

Every trial is one line in a file of records. A run that was stopped resumes where it stopped, and any trial
can be run again alone: its seed depends only on its setting and its number.
"""
