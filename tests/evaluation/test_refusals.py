"""What is refused, before the first trial or in it, and in which words."""

import numpy as np
import pytest

import mmdbounds as mb
from evaluation.made_methods import Fixed, clean
from mmdbounds.evaluation import evaluate

X, Y = clean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 20}, r"^`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        ({"epsilon": (0.1, 0.2)}, r"^`epsilon` must be a number in \[0, 1\); got \(0\.1, 0\.2\)\.$"),
        ({"methods": []}, r"^`methods` must name at least one method; got none\.$"),
        ({"methods": 3}, r"^`methods` must be a list of methods, or a dict of them by label; got 3\.$"),
        ({"methods": ["s-sb"]}, r"got 's-sb'\. Did you mean 's-sd'\?$"),
        (
            {"methods": ["s-sd", mb.StepwiseDominance(n_steps=9)]},
            r"different labels; got 's-sd' twice\. Give labels",
        ),
        ({"methods": {1: "s-sd"}}, r"^`methods` must have strings as labels; got 1\.$"),
        ({"methods": [mb.Sharp]}, r"Did you mean Sharp\(\)\?$"),
        (
            {"sizes": 50},
            r"^`sizes` must be a pair \(rows of X, rows of Y\), each a number or None; got 50\.$",
        ),
        ({"sizes": (5, 5, 5)}, r"^`sizes` must be a pair"),
        ({"sizes": (0, 5)}, r"^`sizes` must be a whole number from 1; got 0\.$"),
        ({"sizes": (31, 5)}, r"must not exceed the 30 rows of `X_clean` unless .* \(`replace`\); got 31\.$"),
        ({"sizes": (None, 41)}, r"must not exceed the 40 rows of `Y_clean`"),
        ({"sizes": (5, 1)}, r"^`Y` has 1 row; the unbiased estimator needs at least 2\.$"),
        ({"sizes": (2, 9), "epsilon": 0.5}, r"`X` has 1 row"),
        ({"replace": 1}, r"^`replace` must be True or False; got 1\.$"),
        ({"exactly": "yes"}, r"^`exactly` must be True or False; got 'yes'\.$"),
        ({"n_trials": 0}, r"^`n_trials` must be a whole number from 1; got 0\.$"),
        ({"n_processes": 0}, r"^`n_processes` must be a whole number from 1; got 0\.$"),
        ({"mechanism": "randon"}, r"^`mechanism` must be one of .* got 'randon'\. Did you mean 'random'\?$"),
        ({"scale": "standart"}, r"must be one of 'standard', 'none'; got 'standart'"),
        ({"kernel": "precomputed"}, r"^`kernel` must be computed from the rows, which change places here"),
        ({"kernel": "rbd"}, r"^`kernel` must be one of .* Did you mean 'rbf'\?$"),
        ({"kernel": "linear", "bandwidth": 2.0}, r"^`bandwidth` goes with a distance kernel given by name"),
        (
            {"bandwidth": "mean"},
            r"^`bandwidth` must be 'median', a multiple .*; got 'mean'\.$",
        ),
        ({"bandwidth": -1.0}, r"^`bandwidth` must be a positive finite number; got -1\.0\.$"),
        ({"estimator": "V"}, r"^`estimator` must be one of 'unbiased', 'biased'; got 'V'\.$"),
        ({"dtype": "float16"}, r"^`dtype` must be one of"),
        ({"backend": "cuda"}, r"^`backend` must be one of"),
        ({"working_memory": 0}, r"^`working_memory` must be a number of MiB from 1; got 0\.$"),
        ({"rng": -1}, r"^`rng` must be a whole number from 0"),
        ({"progress": 2}, r"^`progress` must be True or False; got 2\.$"),
        ({"checkpoint": "trials.jsonl"}, r"^`checkpoint` needs a seed"),
        ({"checkpoint": 7, "rng": 0}, r"^`checkpoint` must be the name of a file; got 7\.$"),
        ({"methods": [Fixed(does="refuses")]}, r"^not with 6 of 46 rows\.$"),
    ],
)
def test_before_the_first_trial(options, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        evaluate(X, Y, **{"epsilon": 0.2, "methods": ["sd"], **options})


def test_groups_that_do_not_match():
    with pytest.raises(mb.MmdBoundsError, match=r"must have the same columns; got 2 and 1"):
        evaluate(X, Y[:, :1], 0.2)
    with pytest.raises(mb.MmdBoundsError, match=r"^`Y_clean` has missing or infinite values"):
        evaluate(X, np.full((3, 2), np.nan), 0.2)


def test_a_trial_that_goes_wrong_is_named():
    methods = {"good": "sd", "bad": Fixed(does="raises ours")}
    with pytest.raises(mb.MmdBoundsError, match=r"^trial 0, method 'bad': no luck\.$"):
        evaluate(X, Y, 0.2, methods=methods, rng=0)
    with pytest.raises(mb.MmdBoundsError, match=r"^trial 0, method 'nan': both ends .* got nan as `lower`"):
        evaluate(X, Y, 0.2, methods={"nan": Fixed(lower=np.nan)}, rng=0)
    with pytest.raises(mb.MmdBoundsError, match=r"got inf as `upper_certified`\.$"):
        evaluate(X, Y, 0.2, methods={"inf": Fixed(0, 1, 0, np.inf)}, rng=0)


def test_a_bug_keeps_its_type_and_names_the_trial():
    with pytest.raises(ZeroDivisionError, match="a bug") as caught:
        evaluate(X, Y, 0.2, methods={"bad": Fixed(does="raises")}, rng=0)
    assert "trial 0, method 'bad'" in caught.value.__notes__[0]


def test_a_mechanism_that_goes_wrong_is_named():
    def too_many(X, Y, n_moved, rng):
        return np.arange(n_moved + 1)

    with pytest.raises(mb.MmdBoundsError, match=r"^trial 0: `mechanism` must return 6 different rows"):
        evaluate(X, Y, 0.2, methods=["sd"], mechanism=too_many, rng=0)


def test_draws_in_which_all_rows_are_equal_are_named():
    same = np.zeros((30, 2))
    with pytest.raises(mb.MmdBoundsError, match=r"^trial 0: all rows are equal, so there is no bandwidth"):
        evaluate(same, same, 0.2, methods=["sd"], scale="standard", rng=0)
