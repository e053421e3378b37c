# `make demo` runs the main job, `make test` the tests. Both set up what they need: a virtual environment with locked
# packages, and, when run as root on Debian or Ubuntu, missing system packages.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
FULL   := $(VENV)/.ready-full

# The documentation site has an environment of its own: neither the program nor its other tests need these packages.
export DOCS_VENV ?= .venv-docs
DOCS_READY := $(DOCS_VENV)/.ready

.PHONY: demo help test test-full bench docs records rtl lint setup lock clean
demo: $(READY)  ## the whole loop once, on one unit and one model (about a minute)
	$(BIN)/bankside demo

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'\t' '{printf "make %-10s %s\n", $$1, $$2}'

# Files vary in cost from nothing to minutes, so a process that has no tests left takes half of those the other has; what
# is left of a file stays together, and so do its fixtures.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test: $(READY) lint  ## lint, and the tests of less than two processor seconds
	$(PYTEST) -m "not slow" --hypothesis-profile=repeatable $(PYTEST_ARGS)

test-full: $(FULL) lint  ## all tests; it also needs OpenSTA and the packages of the site
	$(PYTEST) $(PYTEST_ARGS)

bench: $(READY)  ## measure the speed of the tool itself
	$(BIN)/bankside bench

# Look at it with `python3 -m http.server -d out/site`.
docs: $(DOCS_READY)  ## build the documentation site into out/site
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/python -m mkdocs build -q
	@echo "out/site/index.html"

records: $(READY)  ## make every measurement that comes with the package again (hours)
	$(BIN)/bankside records --remake --records bankside/measured

rtl: $(READY)  ## write the Verilog of all published presets into rtl/
	$(BIN)/bankside rtl

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/mypy

setup: $(READY)  ## set up the environment of the program and its tests

$(READY): requirements.lock pyproject.toml tools/setup.sh tools/install.py
	PYTHON="$(PYTHON)" sh tools/setup.sh "$(VENV)"
	touch $@

$(FULL): $(READY) $(DOCS_READY)
	PYTHON="$(PYTHON)" sh tools/setup.sh "$(VENV)" full
	touch $@

$(DOCS_READY): requirements-docs.lock tools/setup.sh tools/install.py
	PYTHON="$(PYTHON)" sh tools/setup.sh "$(DOCS_VENV)" docs
	touch $@

# The second lock has the extra `docs` alone, in the versions of the first where both have
# a package.
lock:  ## pin the versions of all packages anew, after a change of dependencies
	$(BIN)/uv pip compile --universal --generate-hashes --extra dev --extra llm --extra notebooks pyproject.toml -o requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' \
	  | $(BIN)/uv pip compile --universal --generate-hashes --python-version 3.11 -c requirements.lock - -o requirements-docs.lock

clean:  ## remove environments and outputs
	rm -rf $(VENV) $(DOCS_VENV) out build
