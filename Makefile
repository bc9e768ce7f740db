# `make run` runs kb, `make test` passes the tests; each makes its own environment first.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Bytecode is kept, whatever the environment says: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

# Readers give way to everybody else and have to be done in time, so these run by themselves.
HOSTILE := $(addprefix tests/reliability/hostile/,test_hostile_engine.py test_hostile_files.py)

.PHONY: run test check long newest browser screenshots bench bench-scale format clean

run: $(READY)
	@$(BIN)/kb up

test: check long
	@$(MAKE) --no-print-directory newest

# Format, lint, types, import directions, tests.
check: $(READY_DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin
	$(BIN)/mypy --platform win32
	$(BIN)/mypy tests/reliability/crashes/mutants.py  # planted bugs reach into the engine's insides
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadfile  # what the tests of one file share is made once

# Crash loops, fuzzing and load: bounded, but minutes. The page in a browser belongs to it.
long: $(READY_DEV)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "long and not browser" \
		$(HOSTILE:%=--ignore=%)
	$(BIN)/pytest -m long $(HOSTILE)
	$(BIN)/pytest -m browser  # by itself: what drives the browser keeps an event loop running

# The tests of serving and mcp with the newest uvicorn and mcp. It warns, and never fails; 4 minutes at most.
newest: $(READY_DEV)
	-@nice -n 5 $(BIN)/python tools/newest.py

# The page alone. It takes the system's Chromium, and as root installs Debian's.
browser: $(READY_DEV)
	$(BIN)/pytest -m browser

screenshots: $(READY_DEV)
	$(BIN)/python tools/screenshots.py build/screenshots

bench: $(READY_DEV)
	$(BIN)/python -m benchmarks.speed

# 100,000 and a million chunks: 4 GB in build/scale, where the filled stores are kept, and an hour.
bench-scale: $(READY_DEV)
	$(BIN)/python -m benchmarks.scale build/scale

format: $(READY_DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .venv-* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || python3 -m venv $(VENV)

$(READY): $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e ".[engine,mcp]"
	@touch $@

$(READY_DEV): $(READY)
	$(INSTALL) -e ".[engine,mcp,dev]"
	@touch $@
