# make demo and make test set everything up by themselves; they need Python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two tests at a time on two cores: each product of matrices in one thread, or they would wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadgroup
# Where this is set, every program that a test starts compiles all of its modules again, for two seconds each.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help extras demo live relay paper check test lint vectors statistical bench bench-quick bench-sparse accuracy accuracy-quick
.PHONY: coverage coverage-quick limits limits-quick planning lists lists-quick siblings bench-collector bench-scale soak
.PHONY: fuzz browser docs sbom clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.ready-run: pyproject.toml tools/bootstrap.sh
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh $(VENV) ".[server]"
	@touch $@

$(VENV)/.ready-paper: pyproject.toml tools/bootstrap.sh
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh $(VENV) ".[plots]"
	@touch $@

$(VENV)/.ready-extras: pyproject.toml tools/bootstrap.sh
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh $(VENV) ".[all]"
	@touch $@ $(VENV)/.ready-run $(VENV)/.ready-paper

$(VENV)/.ready-dev: pyproject.toml tools/bootstrap.sh
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh $(VENV) ".[dev]"
	@touch $@ $(VENV)/.ready-run $(VENV)/.ready-paper $(VENV)/.ready-extras

extras: $(VENV)/.ready-extras  ## Install everything that some commands need, except Spark: Parquet, figures, PostgreSQL

demo: $(VENV)/.ready-run  ## Set up, then find the heavy hitters of a simulated crowd
	@$(BIN)/hubbub demo

live: $(VENV)/.ready-run  ## Set up, then watch made-up visitors report, in the dashboard; until Ctrl-C
	@$(BIN)/hubbub demo --live --epsilon 2

relay: $(VENV)/.ready-run  ## Set up, then a collector, a relay and 10,000 made-up visitors at ε = 6, in the dashboard; until Ctrl-C
	@$(BIN)/hubbub demo --relay

paper: $(VENV)/.ready-paper  ## Set up, then run the paper as an experiment; writes paper-report/report.html
	@$(BIN)/hubbub paper --out paper-report

check: $(VENV)/.ready-dev lint  ## Set up, then lint, types and the fast tests: for every save
	$(PYTEST) -m "not slow"

test: $(VENV)/.ready-dev lint  ## Set up, then run every check and test
	$(PYTEST)

lint: $(VENV)/.ready-dev  ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

vectors: $(VENV)/.ready-dev  ## Write tests/vectors again, which all clients must reproduce
	$(BIN)/python tools/make_vectors.py

statistical: $(VENV)/.ready-dev  ## The statistical tests with a fresh seed, which is printed
	@seed=$$($(BIN)/python -c 'import secrets; print(secrets.randbits(31))'); echo "seed $$seed"; \
	  $(BIN)/python -m pytest tests/statistical --seed $$seed

bench: $(VENV)/.ready-dev  ## Measure encode, tally and decode; rewrites a section of docs/benchmarks.md
	$(BIN)/python benchmarks/mechanisms.py --write docs/benchmarks.md

bench-quick: $(VENV)/.ready-dev  ## The same in about a minute, printed only
	$(BIN)/python benchmarks/mechanisms.py --quick

bench-sparse: $(VENV)/.ready-dev  ## Measure sparse recovery; rewrites a section of docs/benchmarks.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sparse_recovery.py --write docs/benchmarks.md

accuracy: $(VENV)/.ready-dev  ## Measure what tree finds, beside its peers; rewrites docs/accuracy.md
	$(BIN)/python benchmarks/accuracy.py --write docs/accuracy.md

accuracy-quick: $(VENV)/.ready-dev  ## The same in about four minutes, printed only
	$(BIN)/python benchmarks/accuracy.py --quick

coverage: $(VENV)/.ready-dev  ## Measure how often answers are wrong, with what is in coverage.json; rewrites docs/coverage.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/level.py --json coverage.json --write docs/coverage.md

coverage-quick: $(VENV)/.ready-dev  ## The same in some minutes, printed only
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/level.py --quick

limits: $(VENV)/.ready-dev  ## Are stated limits true? Goes on where it was; rewrites docs/limits.md
	$(BIN)/python benchmarks/limits.py --state limits.jsonl --write docs/limits.md

planning: $(VENV)/.ready-dev  ## Are predicted chances true? Goes on where it was; rewrites a section of docs/planning.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/planning.py --state planning.jsonl --write docs/planning.md

siblings: $(VENV)/.ready-dev  ## Are names that are alike told apart? Goes on where it was; rewrites docs/siblings.md
	$(BIN)/python benchmarks/siblings.py --state siblings.jsonl --write docs/siblings.md

limits-quick: $(VENV)/.ready-dev  ## The same for a few cells in minutes, printed only
	$(BIN)/python benchmarks/limits.py --quick --values 20 --state limits-quick.jsonl

lists: $(VENV)/.ready-dev  ## Measure counts over short lists, beside the optimum and peers; rewrites a section of docs/benchmarks.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/lists.py --json lists.json --write docs/benchmarks.md

lists-quick: $(VENV)/.ready-dev  ## The same in about a minute, without peers, printed only
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/lists.py --quick

bench-collector: $(VENV)/.ready-dev  ## Measure the collector over HTTP; rewrites docs/collector-benchmarks.md
	$(BIN)/python benchmarks/collector.py --write docs/collector-benchmarks.md

sbom: $(VENV)/.ready-dev  ## Write sbom.json: every package of an installation, with its version and licence
	$(BIN)/python tools/sbom.py --out sbom.json

soak: $(VENV)/.ready-dev  ## Kill collectors 1,000 times, harass and restart them while clients report: every report once
	$(BIN)/python -m tests.collector.simulation --kills 1000
	$(BIN)/python -m tests.collector.hostile --seconds 120
	$(BIN)/python -m tests.deploy.restarts
	$(BIN)/python -m tests.relay.simulation --reports 20000 --kills 100

fuzz: $(VENV)/.ready-dev  ## Hostile surveys and bytes for what reads them: both clients, then all parsers with atheris (installed), a minute
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python tools/fuzz_surveys.py 20000
	$(BIN)/python tools/fuzz.py -max_total_time=60 -rss_limit_mb=4096
	$$($(BIN)/python -c 'from tests.client.test_browser_client import NODE; print(NODE)') clients/js/support/hostile.js
	$(BIN)/python -m tests.relay.fuzz --inputs 50000
	$$($(BIN)/python -c 'from tests.client.test_browser_client import NODE; print(NODE)') clients/js/support/hostile-sites.js

bench-scale: $(VENV)/.ready-dev  ## Measure files of 10^6 to 10^8 reports, also on Spark; goes on where it was
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/scale.py --state scale.jsonl

browser: $(VENV)/.ready-dev  ## 2,000 visits of a real browser to a survey, 2,000 to a site, and 1,000 short ones; needs chromium
	$(BIN)/python -m tests.browser.visits --visits 2000
	$(BIN)/python -m tests.browser.visits --visits 2000 --site
	$(BIN)/python -m tests.browser.visits --visits 1000 --stay 100

docs: $(VENV)/.ready-dev  ## Build the documentation site into site/; it loads nothing from anywhere else
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:  ## Remove everything the other targets made
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
