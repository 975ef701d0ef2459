"""Which runs an experiment needs: each thing once, methods in common once, slow ones with fewer trials."""

from __future__ import annotations

import dataclasses

import pytest

from lab.paper import printed
from lab.paper.experiments import EPSILONS, EXPERIMENTS, SIZES, SOURCES, check_name, listing, protocol
from lab.paper.presets import SHARP
from lab.paper.runs import Run, _shared, runs_of
from mmdbounds.errors import MmdBoundsError
from mmdbounds.journal import append
from mmdbounds.search import StepwiseDominance


def test_every_table_and_figure_of_the_paper_is_there():
    labels = {
        "nonrandom_main_table", "IW_FCR", "fig:FOREST_eps", "tab:sensitivity_step", "fig:typical_est",
        "tab:n2000", "fig:n_mimic", "fig:eps_mimic", "fig:eps_bio", "tab:sens_both", "tab:rand100",
        "fig:randsamp", "fig:rand_eps",
    }  # fmt: skip
    assert {each.label for each in EXPERIMENTS.values()} == labels
    assert {each.table.label for each in EXPERIMENTS.values() if each.table} == set(printed.TABLES)
    assert [name for name, _, _ in listing()] == [*EXPERIMENTS, "all"]


def test_the_grids_cover_what_the_paper_says():
    assert (SIZES[0], SIZES[-1]) == (20, 2000)
    assert (EPSILONS[0], EPSILONS[-1]) == (0.01, 0.9)
    assert {0.25, 0.4, 0.5} <= {s.epsilon for s in EXPERIMENTS["bio-epsilons"].settings}
    for name, mechanism in (("random", "random"), ("random-sizes", "random"), ("main", "nonrandom")):
        assert {s.mechanism for s in EXPERIMENTS[name].settings} == {mechanism}


def test_trials_are_those_of_the_paper():
    trials = {s.source: EXPERIMENTS["main"].trials(s, printed.S_SD) for s in EXPERIMENTS["main"].settings}
    assert trials == {"NIH ChestX-ray14": 50, "Diabetes 130": 50, "COMPAS": 50, "FOREST": 50, "BIO": 100}
    for name in ("steps-s-sd", "steps-s-qno"):  # rates such as 0.21 and 0.05
        assert EXPERIMENTS[name].trials(EXPERIMENTS[name].settings[0], "2") == 100


def test_sizes_of_the_groups():
    assert SOURCES["FOREST"].sizes(100) == (50, 50)
    assert SOURCES["FOREST"].sizes(2000) == (1000, 1000)
    assert SOURCES["BIO"].sizes(72) == (47, 25)


def test_what_two_protocols_have_in_common_runs_once():
    common = {"S-SD": StepwiseDominance(), "SD": StepwiseDominance(n_steps=1)}
    methods, rows = _shared(
        {"one": common, "other": common | {"SD": StepwiseDominance(n_steps=1, weights="plain")}},
        {"S-SD", "SD"},
    )
    assert list(methods) == ["S-SD", "SD", "SD (other)"]
    assert rows["one", "S-SD"] == rows["other", "S-SD"] == "S-SD"
    assert methods[rows["other", "SD"]].weights == "plain"


def test_both_protocols_are_one_run():
    (run,) = runs_of(one_setting("main", "FOREST"), "both")
    for name in ("paper", "ours"):
        for row, method in protocol(name, SOURCES["FOREST"]).methods.items():
            assert run.methods[run.rows[name, row]] == method
    assert len(run.methods) == 6 + 7  # with sharp
    assert ("paper", SHARP) not in run.rows


def test_forest_is_contaminated_the_other_way_round_unless_as_printed():
    exchanged = {
        preset: {run.exchanged for run in runs_of(one_setting("main", "FOREST"), preset)}
        for preset in ("paper", "ours", "both", "paper-as-printed")
    }
    assert exchanged == {"paper": {True}, "ours": {True}, "both": {True}, "paper-as-printed": {False}}
    for source in ("BIO", "COMPAS"):
        assert {run.exchanged for run in runs_of(one_setting("main", source), "both")} == {False}


def test_two_tables_are_run_under_two_labels():
    labels = {}
    for name in ("n2000", "random"):
        for inferred in (False, True):
            (setting,) = (s for s in EXPERIMENTS[name].labelled(inferred=inferred) if s.source == "FOREST")
            labels[name, inferred] = setting.mechanism, setting.n_rows
            assert any(run.setting == setting for run in runs_of(EXPERIMENTS[name], "both"))
    assert labels == {
        ("n2000", False): ("nonrandom", 2000),
        ("n2000", True): ("random", 100),
        ("random", False): ("random", 100),
        ("random", True): ("random", 2000),
    }
    # What is the same setting is the same file.
    names = {
        name: {run.file_name(0) for run in runs_of(EXPERIMENTS[name], "both")}
        for name in ("n2000", "random", "random-sizes")
    }
    assert len(names["n2000"] & names["random"]) == 1
    assert len(names["random"] & names["random-sizes"]) == 2
    others = [each for each in EXPERIMENTS.values() if each.name not in ("n2000", "random")]
    assert all(each.labelled(inferred=True) == each.settings == each.all_settings for each in others)


def test_another_estimator_is_another_run(monkeypatch):
    def one_biased(name, source, family):
        return dataclasses.replace(
            protocol(name, source, family), estimator="biased" if name == "paper" else "unbiased"
        )

    monkeypatch.setattr("lab.paper.runs.protocol", one_biased)
    runs = runs_of(one_setting("main", "BIO"), "both")
    assert [(run.estimator, {name for name, _ in run.rows}) for run in runs] == [
        ("biased", {"paper"}),
        ("unbiased", {"ours"}),
    ]


def test_slow_methods_have_fewer_trials_where_it_says_so():
    runs = runs_of(one_setting("bio-epsilons", "BIO"), "ours")
    assert {run.n_trials: set(run.methods) for run in runs} == {
        100: {"S-SD", "SD", "SM", "Bootstrap", SHARP},
        10: {"QNO", "S-QNO"},
    }
    few = runs_of(one_setting("bio-epsilons", "BIO").with_trials(3), "ours")
    assert [run.n_trials for run in few] == [3]
    assert {run.n_trials for run in runs_of(one_setting("main", "BIO"), "ours")} == {100}


def test_the_name_of_a_file_tells_questions_apart(tmp_path):
    (run,) = runs_of(one_setting("main", "FOREST"), "both")
    (figure,) = (run for run in runs_of(EXPERIMENTS["forest-epsilons"], "both") if run.setting.epsilon == 0.2)
    assert figure.file_name(0) == run.file_name(0)
    more = dataclasses.replace(run, n_trials=500)
    assert more.file_name(0) == run.file_name(0)  # more trials go on where the others ended
    others = [
        run.file_name(1),
        dataclasses.replace(run, estimator="biased").file_name(0),
        dataclasses.replace(run, scale="standard").file_name(0),
        dataclasses.replace(run, exchanged=False).file_name(0),
        dataclasses.replace(run, setting=dataclasses.replace(run.setting, epsilon=0.21)).file_name(0),
        dataclasses.replace(run, methods={"S-SD": run.methods["S-SD"]}).file_name(0),
        runs_of(one_setting("main", "FOREST"), "ours")[0].file_name(0),
    ]
    assert len({run.file_name(0), *others}) == 1 + len(others)
    assert run.file_name(0).startswith("forest-n-100-epsilon-0.2-nonrandom-unbiased-")


def test_trials_that_are_kept_cost_nothing(tmp_path):
    (run,) = runs_of(one_setting("main", "FOREST"), "both")
    assert run.cost(tmp_path, 0) == 50
    for record in [b"what was asked", *[b"a trial"] * 20]:
        append(tmp_path / run.file_name(0), record)
    assert run.cost(tmp_path, 0) == 30
    large = dataclasses.replace(run, setting=dataclasses.replace(run.setting, n_rows=2000))
    assert large.cost(tmp_path, 0) > 20 * 50


def test_every_protocol_has_the_rows_of_its_table():
    for experiment in EXPERIMENTS.values():
        for setting in experiment.settings:
            for name, further in (("paper", ()), ("paper-as-printed", ()), ("ours", (SHARP,))):
                rows = tuple(protocol(name, SOURCES[setting.source], experiment.family).methods)
                wanted = experiment.table.rows if experiment.table else printed.METHODS
                assert rows == wanted + (further if wanted == printed.METHODS else ())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: protocol("theirs", SOURCES["BIO"]),
            "`preset` must be one of 'paper', 'paper-as-printed', 'ours'; got 'theirs'",
        ),
        (lambda: protocol("ours", SOURCES["BIO"], "none"), "`family` must be one of 'all methods'"),
        (lambda: check_name("tipical"), "Did you mean 'typical'"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(MmdBoundsError, match=message):
        call()


def one_setting(name, source):
    experiment = EXPERIMENTS[name]
    settings = tuple(s for s in experiment.settings if s.source == source and s.epsilon == 0.2)
    assert isinstance(runs_of(experiment, "paper")[0], Run)
    return dataclasses.replace(experiment, settings=settings, inferred=())
