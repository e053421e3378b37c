# `make demo` runs the main job, `make test` the tests. Both set up what they need: a virtual environment with locked
# packages, and, when run as root on Debian or Ubuntu, missing system packages.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
FULL   := $(VENV)/.ready-full

.PHONY: demo test test-full bench records rtl lint setup lock clean
demo: $(READY)
	$(BIN)/bankside demo

# Files vary in cost from nothing to minutes, so a process that has no tests left takes half of those the other has; what
# is left of a file stays together, and so do its fixtures.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

test: $(READY) lint
	$(PYTEST) -m "not slow" --hypothesis-profile=repeatable $(PYTEST_ARGS)

test-full: $(FULL) lint
	$(PYTEST) $(PYTEST_ARGS)

bench: $(READY)
	$(BIN)/bankside bench

# Makes every measurement that comes with the package again: hours.
records: $(READY)
	$(BIN)/bankside records --remake --records bankside/measured

rtl: $(READY)
	$(BIN)/bankside rtl

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

setup: $(READY)

$(READY): requirements.lock pyproject.toml tools/setup.sh
	PYTHON="$(PYTHON)" sh tools/setup.sh "$(VENV)"
	touch $@

$(FULL): $(READY)
	PYTHON="$(PYTHON)" sh tools/setup.sh "$(VENV)" full
	touch $@

# After a change of dependencies.
lock:
	$(BIN)/uv pip compile --universal --generate-hashes --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) out build
