"""What follows for the populations: tests, confidence intervals, a ceiling for the share that is misfiled."""
