# mtkit: every task of the project. A target installs what it needs; nothing but Python 3.11+ has to be there.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.installed-test
DEVICES ?= 8

.DEFAULT_GOAL := help
.PHONY: help install demo multi30k test test-slow check format bench quality reference train-base train-big clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv with mtkit and all it needs

# Without compiling: what is imported is compiled then, and the rest of torch never is.
PIP = $(BIN)/pip install --disable-pip-version-check --quiet --no-compile --constraint constraints.txt --editable

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mtkit needs Python 3.11 or newer; say which with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) .
	@touch $@

$(TESTABLE): $(INSTALLED)
	$(PIP) '.[test]'
	@touch $@

demo: $(INSTALLED) ## the whole work on a generated corpus, in five minutes on two cores
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

multi30k: $(INSTALLED) ## image captions from English to German: a real small model, in an hour on two cores
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/multi30k.sh

test: $(TESTABLE) ## the test suite without the tests marked slow
	$(BIN)/python -m pytest -m 'not slow' --numprocesses auto --dist loadfile $(ARGS)

test-slow: $(TESTABLE) ## the tests that take minutes
	$(BIN)/python -m pytest -m slow --timeout 3600 $(ARGS)

check: $(TESTABLE) ## lint, types, and how the house is built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports setup.cfg

format: $(TESTABLE) ## put the source in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TESTABLE) ## speed and memory, one JSON line each, ratios against a baseline of the same run
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python scripts/bench_prepare.py
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python scripts/bench_train.py
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python scripts/bench_translate.py
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python scripts/bench_evaluate.py

quality: $(INSTALLED) ## train the demo and Multi30k with three seeds each and hold them against the last recording (hours)
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python scripts/quality.py $(ARGS)

reference: $(INSTALLED) ## write configs/reference.yaml anew from the schema
	$(BIN)/python -m mtkit.config.reference > configs/reference.yaml

train-base: $(INSTALLED) ## the paper's base model on WMT14 English-German, on DEVICES GPUs
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/wmt14_en_de.sh base $(DEVICES)

train-big: $(INSTALLED) ## the paper's big model on the same data
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/wmt14_en_de.sh big $(DEVICES)

clean: ## remove what the targets made, except data/ and runs/
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
