PYTHON ?= python3
BIN := .venv/bin

NATIVE := $(addprefix src/minercdc/native/,_rows.pyx scan.pxi print.pxi read.pxi store.pxi mine.pxi arrow.pxi avro.pxi core.h store.h avro.h scan.c print.c store.c avro.c)

.PHONY: install demo lint unit python-path test fuzz wheels containers standby torture parity bench bench-peer docs
install: .venv/installed

.venv/installed: pyproject.toml sandbox/pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ./sandbox --editable '.[sandbox,local,lake,expressions,opentelemetry,dev]'
	@$(BIN)/python -c 'from minercdc import native; print(native.summary())'
	touch $@

demo: install
	$(BIN)/minercdc demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pure tests, no servers: a minute or two.
unit: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/unit sandbox/tests/unit

# The tests of capture and encoder on the Python path, which is the reference of the native one.
python-path: install
	MINERCDC_NATIVE=0 $(BIN)/python -m pytest -q -n 2 --dist loadfile tests/unit/capture tests/unit/kafka tests/unit/values \
		tests/unit/native tests/unit/formats tests/sandbox_capture tests/conformance

# The C core under sanitizers: ten million damaged statements, some minutes.
fuzz: install
	MINERCDC_INPUTS=$${MINERCDC_INPUTS:-10000000} $(BIN)/python -m pytest -q -s -n 0 tests/unit/native/test_sanitized.py

# Two processes, a file's tests in one of them: most tests wait for servers most of the time.
test: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

wheels: install
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./sandbox

# Starts a Docker engine of its own where none answers, as root.
containers: install
	$(BIN)/python -m pytest -q --start-engine --durations=5 tests/containers

# Fifty owners killed, seen by the group and by the port, and twenty frozen; a quarter of an hour each.
standby: install
	MINERCDC_TAKEOVERS=50,20 $(BIN)/python -m pytest -q -s -n 0 tests/e2e/test_standby.py

torture: install
	MINERCDC_KILLS=50 MINERCDC_SEEDS=200 MINERCDC_LAKE_SEEDS=100 $(BIN)/python -m pytest -q -s tests/torture tests/checker

parity: install
	$(BIN)/python -m pytest -q tests/parity

bench: install
	$(BIN)/python -m bench

# Debezium and minercdc in turns on the same redo: half an hour.
bench-peer: install
	$(BIN)/python -m bench.peer

docs: install
	$(BIN)/minercdc config > docs/configuration.md
	$(BIN)/minercdc types > docs/types.md
	$(BIN)/minercdc errors > docs/errors.md
	$(BIN)/python -m minercdc_sandbox.page > sandbox/docs/sandbox.md
