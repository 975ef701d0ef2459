# Only Python (3.11 or newer) and make are needed; every target sets itself up.
PYTHON ?= python3
# Folder with the larger real data sets; tests that need it run only where it exists.
DATA ?= ../shared/data
# How long `make fuzz` runs.
MINUTES ?= 20
# What `make mimic` passes on.
ARGUMENTS ?= --help

VENV := .venv
FULL := .venv-full
OLDEST := .venv-oldest
NEWEST := .venv-newest
BIN := $(VENV)/bin
FULL_BIN := $(FULL)/bin

# Installed versions and isolated build environments are both pinned; pip knows them as two options.
# Relative names, because pip splits these variables at blanks.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

ifneq ($(wildcard $(DATA)/.),)
WITH_DATA := MMDBOUNDS_DATA="$$(cd "$(DATA)" && pwd)"
NO_DATA :=
else
WITH_DATA :=
NO_DATA := and not data
endif
FULL_TESTS := $(WITH_DATA) MMDBOUNDS_FULL=1 $(FULL_BIN)/python -m pytest -n 2

.PHONY: help demo test perturbed matrix check full slow docs refresh wheel bench bench-reach bench-peers fuzz study-coverage study-gaps study-type-one study-power study-bandwidths study-confidence study-convergence study-far-rows study-row-order study-audits mutants paper mimic clean

help:
	@echo "make demo     set up and run the demo"
	@echo "make test     set up and run the tests (run-time dependencies and scikit-learn)"
	@echo "make perturbed  the tests again where sums are added up in another order (processor, blocks, threads, no numba)"
	@echo "make check    lint, format, types, direction of imports"
	@echo "make full     all tests but the slow ones, with every optional package; a skip is a failure"
	@echo "make slow     the slow tests, which make full leaves out: thousands of problems instead of dozens"
	@echo "make matrix   a slice of the tests in every environment: oldest and newest versions, no cache, no numba"
	@echo "make docs     build the documentation: docs/_build/html/index.html"
	@echo "make refresh  rewrite the outputs and the command line reference shown in README and docs; stories where DATA is"
	@echo "make wheel    build sdist and wheel: dist/"
	@echo "make bench    run lab/benchmarks/pair_rates.py"
	@echo "make bench-reach  seconds, gaps and memory from 200 to half a million rows, estimates, NumPy and PyTorch beside; 1-2 hours"
	@echo "make bench-peers  seconds and memory beside other packages, half an hour; resumes where it stopped"
	@echo "make fuzz     draw whole calls and compare with long double, MINUTES=20; in .venv-full, torch and pandas included"
	@echo "make study-coverage  does the certified interval hold the truth? 9,600 trials, hours; resumes where it stopped"
	@echo "make study-gaps      gaps and seconds on FOREST and BIO; resumes where it stopped, leave the machine alone"
	@echo "make study-type-one  does the robust test keep its level? 24,000 trials, under half an hour; resumes where it stopped"
	@echo "make study-power     its power beside a rule for corrupted rows; under half an hour; resumes where it stopped"
	@echo "make study-bandwidths  its power with several bandwidths beside the median; half an hour; resumes where it stopped"
	@echo "make study-confidence  do confidence intervals hold what they should? half an hour; resumes where it stopped"
	@echo "make study-convergence  how fast do the methods approach bounds that are known? 12 minutes; resumes where it stopped"
	@echo "make mutants  a hundred lines broken one by one: which does no test notice? an hour or two; resumes where it stopped"
	@echo "make study-row-order  which order of rows finds misfiled ones, and narrows the interval? resumes where it stopped"
	@echo "make study-audits    how often is the decision of an audit wrong, and after how many rows? resumes where it stopped"
	@echo "make study-far-rows  do certificates hold where rows lie far out? 30,000 problems, half an hour"
	@echo "make paper    every table and figure of the paper, an hour or two; resumes where it stopped"
	@echo "make mimic    logits from your own copy of MIMIC-CXR: make mimic ARGUMENTS='FOLDER --weights FILE --out FILE'"
	@echo "make clean    remove what make made, environments included"

demo: $(VENV)/.stamp-demo
	$(BIN)/mmdbounds demo

test: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -n 2 tests -m "not slow and not long and not data and not full"

check: $(FULL)/.stamp-full
	$(FULL_BIN)/ruff check
	$(FULL_BIN)/ruff format --check
	$(FULL_BIN)/mypy
	$(FULL_BIN)/mypy --platform win32 # what is only called there
	$(FULL_BIN)/lint-imports

perturbed: $(VENV)/.stamp-test
	$(BIN)/python tests/perturbed/run.py

full: $(FULL)/.stamp-full
	$(FULL_TESTS) -m "not slow $(NO_DATA)"

slow: $(FULL)/.stamp-full
	$(FULL_TESTS) -m "slow $(NO_DATA)"

matrix: $(VENV)/.stamp-test $(OLDEST)/.stamp-matrix $(NEWEST)/.stamp-matrix
	.ci/matrix

docs: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	$(FULL_BIN)/python docs/_tools/no_requests.py docs/_build/html
	@echo "open docs/_build/html/index.html"

refresh: $(FULL)/.stamp-full
	$(FULL_BIN)/python docs/_tools/pages.py --write
	$(WITH_DATA) $(FULL_BIN)/python docs/_tools/kept.py

wheel: $(FULL)/.stamp-full
	rm -rf dist
	$(FULL_BIN)/python -m build --outdir dist

bench: $(VENV)/.stamp-test
	@echo "running lab/benchmarks/pair_rates.py; leave the machine alone meanwhile"
	$(BIN)/python -m lab.benchmarks.pair_rates

bench-reach: $(FULL)/.stamp-full
	@echo "this times; leave the machine alone meanwhile"
	$(FULL_BIN)/python -m lab.benchmarks.reach --data "$(DATA)"
	$(FULL_BIN)/python -m lab.benchmarks.estimates --data "$(DATA)" --out lab/benchmarks/results/estimates.md
	$(FULL_BIN)/python -m lab.benchmarks.small --out lab/benchmarks/results/small.md

bench-peers: $(FULL)/.stamp-full
	@echo "this times; leave the machine alone meanwhile"
	$(FULL_BIN)/python -m lab.benchmarks.peers.run $(if $(wildcard $(DATA)/.),--data "$(DATA)")

fuzz: $(FULL)/.stamp-full
	PYTHONPATH=tests $(FULL_BIN)/python -m fuzzing --minutes $(MINUTES)

study-coverage: $(VENV)/.stamp-test
	$(BIN)/python -m lab.studies.coverage --data "$(DATA)"

study-gaps: $(VENV)/.stamp-test
	@echo "this times; leave the machine alone meanwhile"
	$(BIN)/python -m lab.studies.forest_gaps --data "$(DATA)"

study-type-one: $(VENV)/.stamp-test
	$(BIN)/python -m lab.studies.type_one

study-bandwidths: $(VENV)/.stamp-test
	$(BIN)/python -m lab.studies.bandwidths

study-power: $(VENV)/.stamp-test
	$(BIN)/python -m lab.studies.power --data "$(DATA)"

study-confidence: $(VENV)/.stamp-test
	$(BIN)/python -m lab.studies.confidence_coverage

study-convergence: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.studies.convergence

mutants: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.studies.mutants

study-row-order: $(FULL)/.stamp-full
	MMDBOUNDS_DATA="$(DATA)" $(FULL_BIN)/python -m lab.studies.row_order

study-audits: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.studies.audits --data "$(DATA)"

study-far-rows: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.studies.far_rows

paper: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.paper all --data "$(DATA)"

mimic: $(FULL)/.stamp-full
	$(FULL_BIN)/python -m lab.paper.mimic $(ARGUMENTS)

clean:
	rm -rf $(VENV) $(FULL) $(OLDEST) $(NEWEST) .peers build dist docs/_build docs/gallery docs/reference/generated
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find src tests docs lab -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up, once, and again when the dependencies change. The environment itself is made first:
# the pip that comes with Python may be too old for dependency groups.
$(VENV)/.stamp-pip $(FULL)/.stamp-pip: constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"Python 3.11 or newer is needed; {sys.executable} is {v[0]}.{v[1]}. Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.stamp-demo: $(VENV)/.stamp-pip pyproject.toml
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[plot]'
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-pip pyproject.toml
	$(BIN)/python -m pip install --quiet -c constraints.txt -e . --group test
	@touch $@

$(FULL)/.stamp-full: $(FULL)/.stamp-pip pyproject.toml
	$(FULL_BIN)/python -m pip install --quiet -c constraints.txt -e '.[files,plot,sklearn,gpu,dask]' --group full --group mimic --group lint --group docs --group release
	@touch $@

# Oldest versions on the oldest Python, pinned versions on the newest one that is found.
$(OLDEST)/.stamp-matrix: ENDS := oldest constraints-oldest.txt
$(NEWEST)/.stamp-matrix: ENDS := newest constraints.txt
$(OLDEST)/.stamp-matrix $(NEWEST)/.stamp-matrix: constraints.txt constraints-oldest.txt pyproject.toml .ci/find-python
	"$$(.ci/find-python $(word 1,$(ENDS)))" -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	PIP_CONSTRAINT=$(word 2,$(ENDS)) $(@D)/bin/python -m pip install --quiet -e . --group test
	@touch $@
