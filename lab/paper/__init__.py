"""Results of `mmdbounds reproduce`, and a program for the paper's image data that is run in a clone."""
