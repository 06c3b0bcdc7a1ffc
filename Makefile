# make demo      one private exchange, end to end
# make test      checks and quick tests, five minutes; ALL=1 every test that a change must pass, as CI;
#                TESTS="tests/core ..." for some
# make test-web  the browser's device, where node and npm are, and its page in Chromium and Firefox
# make audit     all evidence of docs/guarantees.md, and a report of it; NIGHTLY=1, what takes hours
# make mutants   plants bugs, one at a time, and runs the tests that claim to see each
# make engines   also installs drivers of Spark and PostgreSQL, and peers such as OpenDP and pandas
# make bench     our speed beside the peers' and the floor; NAME=list names the measurements
# make report    measures the figures of README, docs/utility.md and docs/places.md, 15 min
# make towns     the tables of towns and regions from GeoNames, 35 MB; CHECK=1 compares them
# make docs      the documentation site, into build/docs/
# make papers    the main figures of four papers, into docs/papers; some minutes
# make check     style, types, imports and protocol, and the size of this project beside its goals
# make supply    asks whether a locked dependency has a known fault, and lists what a server is made of;
#                LOCK=1 locks them anew; WITH=lowest or newest tests with the oldest or newest allowed
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
UV     := $(shell command -v uv 2>/dev/null)
PROTOS := $(shell find proto -name '*.proto')

# Every target is a command, but for the environments.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(STAMP)
	@$(BIN)/askew demo

# Bytecode is kept even where the environment says otherwise: the suite starts hundreds of processes,
# and each would compile our modules anew. Threads of BLAS would wait for each other's cores.
QUICK = PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1
# Files of tests lie in memory where there is plenty of it: ledgers wait for the disk 30,000 times.
MEMORY = $(shell $(PYTHON) -c 'import os; path = "/dev/shm"; of = os.statvfs(path); \
  large = of.f_bavail * of.f_frsize > 4e9 and not of.f_flag & os.ST_NOEXEC; \
  print("PYTEST_DEBUG_TEMPROOT=" + path if large and os.access(path, os.W_OK) else "")' 2>/dev/null)

# Three, since tests wait as well: for servers and disks. The order of files is kept: those with many
# tests are not those that take long.
WORKERS = -n 3 --dist loadfile --no-loadscope-reorder

# ALL=1 adds the slow ones, and the types of the tests.
TIER = $(if $(ALL),-m "not audit and not nightly")

test: check
	$(QUICK) $(MEMORY) $(BIN)/python -m pytest -q $(WORKERS) $(TIER) $(TESTS)

WEB := client/web

test-web: $(WEB)/node_modules/.installed $(STAMP)
	cd $(WEB) && npm test

$(WEB)/node_modules/.installed: $(WEB)/package-lock.json
	cd $(WEB) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# With them, java and PostgreSQL, `make test ALL=1` counts on real engines; see .ci/run.
engines: $(VENV)/.engines

$(VENV)/.engines: requirements-engines.lock requirements-peers.lock $(STAMP)
	@echo "Adding drivers and peers to $(VENV), once; it takes some minutes ..."
	$(call quietly,$(VENV),$(INSTALL) $(LOCKED) -r requirements-engines.lock)
	$(call quietly,$(VENV),$(INSTALL) $(LOCKED) -r requirements-peers.lock)
	@touch $@

mutants: $(STAMP)
	@$(MEMORY) $(BIN)/python -m benchmarks.mutants $(BUGS)

# Whoever is done takes tests from another; else neighbors run in one process, as they share laws.
# A night's run is kept with its commit, for the report of the next audit.
EVIDENCE = $(QUICK) $(MEMORY) $(BIN)/python -m pytest -n 3 --dist worksteal -rs --durations=20
REPORT = PYTHONPATH=tests:. $(BIN)/python -m guarantees.audit.report

ifdef NIGHTLY
audit: $(STAMP)
	@mkdir -p build && git describe --always --dirty --abbrev=12 >build/nightly.commit
	$(EVIDENCE) -m nightly --junitxml=build/nightly.xml
else
audit: $(STAMP)
	$(EVIDENCE) -m "not nightly" --junitxml=build/audit.xml \
	  $$($(REPORT) tests); status=$$?; \
	  $(REPORT) write build/audit.xml && exit $$status
endif

# One measurement by its name, with its arguments: make bench NAME=near ARGS=1e7. Without a name, all
# of the usual ones; NAME=list lists them.
bench: $(STAMP)
	@$(QUICK) $(BIN)/python -m benchmarks $(NAME) $(ARGS)

# What is worth what, into the documents; ARGS="--only render" writes them without measuring.
report: $(if $(findstring render,$(ARGS)),,build/geonames/.installed) $(STAMP)
	@$(BIN)/python -m benchmarks.report $(ARGS)

# Made-up counts in the papers' shapes; ARGS="--counts FOLDER --ratings FILE" adds real ones.
papers: $(STAMP)
	@$(BIN)/python -m benchmarks.papers $(ARGS)

# The site has a folder for each version; what is in build/docs of other versions stays.
docs: .venv-docs/.installed $(STAMP)
	@$(BIN)/python -m benchmarks.reference
	.venv-docs/bin/python -m sphinx -q -W --keep-going -d build/doctrees docs \
	  build/docs/$$(.venv-docs/bin/python -c 'import askew; print(askew.__version__)')
	@echo "Open $$(ls -td $(CURDIR)/build/docs/*/index.html | head -1)"

# Nothing of it is installed to build or to run: the tables are committed.
towns: build/geonames/.installed $(STAMP)
	@$(BIN)/python -m benchmarks.make_towns build/geonames $(if $(CHECK),--check)

build/geonames/.installed: requirements-towns.lock $(STAMP)
	@mkdir -p build
	$(call quietly,$(VENV),$(INSTALL) $(LOCKED) --no-deps --target build/geonames -r $<)
	@touch $@

# With what the server and the device need, since the reference is read from the code.
.venv-docs/.installed: requirements-docs.lock
	$(call environment,.venv-docs,$<)
	$(call quietly,.venv-docs,$(call installer,.venv-docs) --no-deps --no-build-isolation -e .)
	@touch $@

check: $(STAMP) .venv-proto/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy shared client server benchmarks deploy $(if $(ALL),tests)
	$(BIN)/lint-imports --no-logo
	@rm -rf build/proto && mkdir -p build/proto
	@$(call PROTOC,build/proto)
	diff -r -x __init__.py -x __pycache__ build/proto/askew/wire/v1 shared/askew/wire/v1
	$(BIN)/buf lint proto
	$(BIN)/buf breaking proto --against proto/released.json
	@$(BIN)/python -m benchmarks.count

# What an installer says goes to a file of the environment $(1), and is shown where it fails.
quietly = @{ $(2); } >>$(1)/install.log 2>&1 || { cat $(1)/install.log >&2; exit 1; }

# Makes the environment $(1) from the lock file $(2): by uv where it is, else by pip, with or without
# the interpreter's own ensurepip.
define environment
@echo "Setting up $(1) from $(2), once; it takes about a minute ..."
@mkdir -p $(1) && : >$(1)/install.log
$(call quietly,$(1),$(call empty,$(1)))
$(call quietly,$(1),$(call installer,$(1)) $(LOCKED) -r $(2))
endef

LOCKED = --require-hashes
INSTALL = $(call installer,$(VENV))
ifdef UV
empty = $(UV) venv -q --allow-existing --python $(PYTHON) $(1)
installer = $(UV) pip install -q --python $(1)/bin/python
else
empty = { $(PYTHON) -m venv $(1) || $(PYTHON) -m venv --without-pip $(1); } && \
  { $(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m pip --python $(1)/bin/python install pip; }
installer = $(1)/bin/python -m pip install -q --disable-pip-version-check
endif

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Askew needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(call environment,$(VENV),requirements.lock)
	$(call quietly,$(VENV),$(INSTALL) --no-deps --no-build-isolation -e .)
	@touch $@

# Generated code is committed. The oldest supported grpcio-tools makes it, away from the
# development environment, because generated code sets the floor of what can run it.
.venv-proto/.installed: requirements-proto.lock
	$(call environment,.venv-proto,$<)
	@touch $@

PROTOC = PATH="$(CURDIR)/.venv-proto/bin:$$PATH" .venv-proto/bin/python -m grpc_tools.protoc -Iproto \
  --python_out=$(1) --mypy_out=quiet:$(1) $(PROTOS)

# RELEASE=1 also makes today's protocol the one that later changes must not break.
proto: .venv-proto/.installed $(STAMP)
	$(call PROTOC,shared)
	$(if $(RELEASE),$(BIN)/buf build proto -o proto/released.json)

# What looks at dependencies is kept away from the development environment.
.venv-tools/.installed: requirements-tools.lock
	$(call environment,.venv-tools,$<)
	@touch $@

TOOLS = .venv-tools/bin
LOCKS = requirements.lock requirements-server.lock requirements-build.lock requirements-engines.lock

# The tests that touch what dependencies give, in an environment of its own: some ten minutes.
ESSENTIAL = tests/wire tests/client/test_client.py tests/client/cli tests/client/transport \
  tests/client/tui tests/server/cli tests/server/taste \
  tests/server/counting tests/server/serving tests/end_to_end/test_real_grpc.py

define with_resolution
@mkdir -p build
$(TOOLS)/uv pip compile -q pyproject.toml --extra all --group dev --resolution $(2) \
  --python $(PYTHON) --upgrade -o build/$(1).txt
$(TOOLS)/uv venv -q --allow-existing --python $(PYTHON) .venv-$(1)
$(TOOLS)/uv pip sync -q --python .venv-$(1)/bin/python build/$(1).txt
$(TOOLS)/uv pip install -q --python .venv-$(1)/bin/python --no-deps --no-build-isolation -e .
$(QUICK) $(MEMORY) .venv-$(1)/bin/python -m pytest $(WORKERS) -q $(ESSENTIAL)
endef

ifdef LOCK
# With a hash for every file.
supply: .venv-tools/.installed
	$(TOOLS)/uv pip compile -q pyproject.toml --extra all --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --upgrade -o requirements.lock
	$(TOOLS)/uv pip compile -q pyproject.toml --extra server --universal --python-version 3.11 \
	  -c requirements.lock --generate-hashes --no-header --no-annotate --upgrade \
	  -o requirements-server.lock
	$(TOOLS)/uv pip compile -q --group build --universal --python-version 3.11 -c requirements.lock \
	  --generate-hashes --no-header --no-annotate --upgrade -o requirements-build.lock
	$(TOOLS)/uv pip compile -q --group tools --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --upgrade -o requirements-tools.lock
	$(TOOLS)/uv pip compile -q --group peers --universal --python-version 3.11 -c requirements.lock \
	  --generate-hashes --no-header --no-annotate --upgrade -o requirements-peers.lock
	$(TOOLS)/uv pip compile -q --group proto --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --upgrade -o requirements-proto.lock
	$(TOOLS)/uv pip compile -q pyproject.toml --extra client --extra server --group build --group docs \
	  --universal --python-version 3.11 -c requirements.lock --generate-hashes --no-header \
	  --no-annotate --upgrade -o requirements-docs.lock
	$(TOOLS)/uv pip compile -q pyproject.toml --extra spark --extra postgres --universal \
	  --python-version 3.11 -c requirements.lock --generate-hashes --no-header --no-annotate \
	  --upgrade -o requirements-engines.lock
else ifdef WITH
# WITH=lowest is the oldest of each direct dependency, WITH=newest the newest of all; with the oldest
# Python, too: make PYTHON=python3.11 ...
supply: .venv-tools/.installed
	$(call with_resolution,$(WITH),$(if $(filter newest,$(WITH)),highest,lowest-direct))
else
# Fails where a fault is known, and where nobody can say: the service of advisories does not answer,
# or does not know a release. AUDIT="-s osv" asks another than PyPI's.
supply: .venv-tools/.installed
	@mkdir -p build
	$(TOOLS)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --validate \
	  --of JSON -o build/askew-server.cdx.json requirements-server.lock
	$(TOOLS)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off $(AUDIT) \
	  $(LOCKS:%=-r %)
endif

clean:
	rm -rf $(VENV) .venv-docs .venv-proto .venv-tools .venv-lowest .venv-newest build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
