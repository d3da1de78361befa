# Every target works in a fresh clone with Python 3.11 or newer and pip; nothing else is needed.
# VENV, PYTHON and EXTRAS can be set: `make test EXTRAS=all` also builds hnswlib (needs a compiler).

VENV      ?= .venv
EXTRAS    ?= documents,fastembed,models,symbols
CORPUS    ?= ../shared/corpus/wikantik-pages
QUESTIONS ?= ../shared/eval/questions.csv
PYTHON    ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

BIN     := $(VENV)/bin
PIP      = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
RUN     := $(VENV)/.installed
comma   := ,
given    = $(if $(filter file,$(origin $(1))),,--$(2) "$($(1))")
CHECKS  := $(VENV)/.installed-checks-$(subst $(comma),-,$(EXTRAS))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types format bandit audit fuzz bench eval conformance load clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUN) ## index the sample vault, ask it over MCP, print what an agent gets
	@$(BIN)/python benchmarks/demo.py

test: $(CHECKS) ## all tests, a process for each core (tests of extras that are not installed say so)
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(CHECKS) ## ruff over package, tests and benchmarks
	$(BIN)/ruff check wikimcp tests benchmarks
	$(BIN)/ruff format --check wikimcp tests benchmarks

format: $(CHECKS) ## let ruff put the code in form
	$(BIN)/ruff check --fix wikimcp tests benchmarks
	$(BIN)/ruff format wikimcp tests benchmarks

types: $(CHECKS) ## mypy --strict over package, tests and benchmarks
	$(BIN)/mypy wikimcp tests benchmarks

bandit: $(CHECKS) ## bandit over the package; every exception stands beside its line with its reason
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive wikimcp

audit: $(CHECKS) ## known vulnerabilities of what is installed (where no advisories can be had, it says so)
	@$(BIN)/python .ci/audit.py

load: $(CHECKS) ## many clients over HTTP beside the slowest one (LOAD="--seconds 60 --clients 64")
	$(BIN)/python -m benchmarks.load $(LOAD)

fuzz: $(CHECKS) ## mutated pages through every dialect (bounded: FUZZ="--pages 2000 --seed 7")
	$(BIN)/python -m benchmarks.fuzz $(call given,CORPUS,corpus) $(FUZZ)

bench: $(CHECKS) ## measure speed and memory, write benchmarks/RESULTS.md (quick look: BENCH=--quick)
	$(BIN)/python -m benchmarks.run $(call given,CORPUS,corpus) $(call given,QUESTIONS,questions) $(BENCH)

eval: $(RUN) ## measure retrieval: make eval CORPUS=... QUESTIONS=...
	@test -d "$(CORPUS)" && test -f "$(QUESTIONS)" || { \
		echo "make eval needs a corpus and its questions: make eval CORPUS=folder QUESTIONS=file.csv" >&2; exit 1; }
	$(BIN)/wikimcp eval "$(CORPUS)" "$(QUESTIONS)" --mode all

conformance: $(RUN) ## the protocol's own scenarios against the HTTP server (needs npm, else says so)
	@$(BIN)/python tests/conformance/run.py $(VENV)/conformance

clean: ## remove the virtual environment, caches and build output
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find wikimcp tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with ensurepip is needed; name it: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(CHECKS): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test,lint,$(EXTRAS)]'
	@touch $@ $(RUN)
