PYTHON ?= python3
BIN := .venv/bin

NATIVE := $(addprefix src/minercdc/native/,_rows.pyx scan.pxi print.pxi read.pxi fetched.pxi store.pxi mine.pxi arrow.pxi avro.pxi core.h store.h avro.h scan.c print.c store.c avro.c)

# Tests of several processes share two cores with their servers: one that fails runs once more, with nothing beside it. Both runs are shown:
# a test that passes only alone has a fault, or the product has, and is repaired.
define tested
$(BIN)/python -m pytest -q $(1) || { test $$? -eq 1 && echo "The tests that failed, once more and alone:" \
	&& $(BIN)/python -m pytest -q $(1) -n 0 --last-failed --last-failed-no-failures none; }
endef

.PHONY: install demo lint unit python-path test fuzz wheels containers cluster standby torture soak simulate parity bench bench-peer docs
install: .venv/installed

.venv/installed: pyproject.toml sandbox/pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	rm -f src/minercdc/native/*.so  # one that is left would hide that this one was not built
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

# What native code does, on the Python path, which is its reference: LogMiner's rows and values, transactions, the encoder.
LOGMINER_TESTS := $(addprefix tests/sandbox_capture/test_,capture.py faults.py generated_types.py json.py kept.py lobs.py number_extremes.py oddities.py open_at.py renames.py types.py)

PURE_TESTS := $(addprefix tests/unit/,capture kafka values native formats snapshot signals test_engine.py test_read_runs.py)

python-path: private export MINERCDC_NATIVE := 0
python-path: install
	$(call tested,-n 2 --dist loadfile $(PURE_TESTS) $(LOGMINER_TESTS))
	$(call tested,-n 2 tests/conformance -k logminer)

# The C core under sanitizers: ten million damaged statements, some minutes.
fuzz: install
	MINERCDC_INPUTS=$${MINERCDC_INPUTS:-10000000} $(BIN)/python -m pytest -q -s -n 0 tests/unit/native/test_sanitized.py

# Everything, then capture and encoder once more on the Python path.
# Three processes, which two cores keep busy though many tests wait for servers; the tests of a file run in one of them. The
# directories are taken in the order of their names: the last ones have short files, so all processes end together.
test: lint
	$(call tested,-n 3 --dist loadfile --no-loadscope-reorder)
	$(MAKE) python-path

wheels: install
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./sandbox

# Starts a Docker engine of its own where none answers, as root.
containers: install
	$(call tested,--start-engine --durations=5 tests/containers)

# The lake on a Spark cluster whose workers are containers, two of them killed in the middle of a task; ten minutes with the images.
cluster: install
	MINERCDC_CLUSTER=1 $(BIN)/python -m pytest -q --start-engine tests/containers/test_stack.py -k workers

# Fifty owners killed, seen by the group and by the port, and twenty frozen; a quarter of an hour each.
standby: install
	MINERCDC_TAKEOVERS=50,20 $(BIN)/python -m pytest -q -s -n 0 tests/e2e/test_standby.py

torture: install
	MINERCDC_KILLS=50 MINERCDC_SEEDS=200 MINERCDC_LAKE_SEEDS=100 MINERCDC_KEPT_ROWS=200000 $(BIN)/python -m pytest -q -s tests/torture tests/checker

# An hour of steady work over restarts, DDL and a broker that goes down.
soak: install
	MINERCDC_SOAK_MINUTES=$${MINERCDC_SOAK_MINUTES:-60} $(BIN)/python -m pytest -q -s -n 0 tests/torture/test_soak.py

# Ten thousand starts on models of source, Kafka and time, or MINERCDC_STARTS; 0: for ever. It stops at the first history that is wrong, and
# makes it smaller.
simulate: install
	$(BIN)/python -m tests.simulate --shrink

parity: install
	$(BIN)/python -m pytest -q tests/parity

bench: install
	$(BIN)/python -m bench

# Debezium and minercdc in turns on the same redo: more than an hour; single paths: python -m bench.peer WORK.
bench-peer: install
	$(BIN)/python -m bench.peer

docs: install
	$(BIN)/minercdc config > docs/configuration.md
	$(BIN)/minercdc types > docs/types.md
	$(BIN)/minercdc errors > docs/errors.md
	$(BIN)/minercdc check --rules > docs/checks.md
	$(BIN)/python -m minercdc_sandbox.page > sandbox/docs/sandbox.md
