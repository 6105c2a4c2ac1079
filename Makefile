PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo lint unit test wheels containers torture parity bench docs
install: .venv/installed

.venv/installed: pyproject.toml sandbox/pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ./sandbox --editable '.[sandbox,local,lake,dev]'
	touch $@

demo: install
	$(BIN)/minercdc demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pure tests, no servers: within a minute.
unit: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/unit sandbox/tests/unit

# Two processes, a file's tests in one of them: most tests wait for servers most of the time.
test: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

wheels: install
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./sandbox

# Starts a Docker engine of its own where none answers, as root.
containers: install
	$(BIN)/python -m pytest -q --start-engine --durations=5 tests/containers

torture: install
	MINERCDC_KILLS=50 MINERCDC_SEEDS=200 MINERCDC_LAKE_SEEDS=100 $(BIN)/python -m pytest -q -s tests/torture tests/checker

parity: install
	$(BIN)/python -m pytest -q tests/parity

bench: install
	$(BIN)/python -m bench

docs: install
	$(BIN)/minercdc config > docs/configuration.md
	$(BIN)/minercdc types > docs/types.md
	$(BIN)/minercdc errors > docs/errors.md
	$(BIN)/python -m minercdc_sandbox.page > sandbox/docs/sandbox.md
