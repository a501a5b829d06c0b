# `make run` and `make test` do nearly everything. Both set up .venv first, which needs Python 3.11
# or newer. uv is installed into .venv when it is not on the PATH.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(or $(shell command -v uv),$(BIN)/uv)
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := $(VENV)
unexport VIRTUAL_ENV

# Where PYTHONDONTWRITEBYTECODE is set, as in many containers, every process compiles all that it
# imports. tests/conftest.py keeps bytecode in the same folder.
ifdef PYTHONDONTWRITEBYTECODE
run live serve test test-fast: export PYTHONDONTWRITEBYTECODE :=
run live serve test test-fast: export PYTHONPYCACHEPREFIX := $(abspath $(VENV))/bytecode
endif

# What runs and builds write. .gitignore has the same list.
OUTPUTS := data/raw data/staged data/releases data/latest.json data/gate-history.json data/status.json \
           data/.leases data/.prefect data/.publish.lock data/.status.lock data/live site dist \
           docs/cli.md docs/data-dictionary.md docs/providers.md docs/answers.md docs/devices.md

# Files go to the workers in their order: the slow ones of tests/flows begin early, not last.
# Tests wait for servers and processes a quarter of the time: three workers for two cores. A worker
# that crashes ends the run: with another in its place, pytest-xdist may wait forever.
CORES := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
PYTEST_PARALLEL := -n $(shell expr $(CORES) \* 3 / 2) --dist loadfile --no-loadscope-reorder \
  --max-worker-restart 0

# Modules of tools/ that write a page of docs/. With --check they compare it instead.
GENERATORS := questions calibration crosschecks

# Modules of tools/ that write a page that is not in git. The last two need a release below data/.
REFERENCES := cli_reference data_dictionary providers_table $(if $(wildcard data/latest.json),answers devices)

.PHONY: help run live test test-fast collect-twice check bench bench-check check-clients serve docs lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 19

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is not here: install Python 3.11 or newer, or call make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11: call make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.8,<1"

# The environment is up to date when this file is newer than the lock. --inexact keeps .venv/bin/uv.
$(VENV)/.synced: pyproject.toml uv.lock | $(BIN)/python $(UV)
	@$(UV) sync --quiet --locked --inexact --extra dev --python $(BIN)/python
	@touch $@

run: $(VENV)/.synced  ## collect from the bundled sample and publish a release below data/ (offline)
	@$(BIN)/hwprices refresh --source sample

live: $(VENV)/.synced  ## the same from the vendors, into data/live (credentials optional, see README)
	@$(BIN)/hwprices refresh --source live --root data/live

test: $(VENV)/.synced  ## all tests
	@$(BIN)/python -m pytest $(PYTEST_PARALLEL)

test-fast: $(VENV)/.synced  ## the tests of daily work: none that are slow, start Prefect or a browser
	@$(BIN)/python -m pytest $(PYTEST_PARALLEL) -m "not slow and not flow and not browser"

collect-twice: $(VENV)/.synced  ## compare the tests of two processes, seconds and hash seeds apart
	@for seed in 1 2; do \
	  PYTHONHASHSEED=$$seed $(BIN)/python -m pytest --collect-only -q >$(VENV)/tests.$$seed & sleep 2; \
	done; wait
	@grep -q :: $(VENV)/tests.1
	@diff -I '^[0-9]* tests collected in' $(VENV)/tests.1 $(VENV)/tests.2 || \
	  { echo "error: two collections differ (above): pytest -n needs test ids without time or hash" >&2; exit 1; }

check: $(VENV)/.synced  ## lint, format, types, import directions, generated docs, spec sheets
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@for tool in $(GENERATORS) published_columns; do $(BIN)/python -m tools.$$tool --check || exit 1; done
	@$(BIN)/python -m tools.spec_lint

check-clients: $(VENV)/.synced  ## ask SkyPilot, in an environment of its own, what `find` answers
	@$(BIN)/python -m tools.check_clients

docs: $(VENV)/.synced  ## write the generated pages, and build the documentation site into site/
	@for tool in $(GENERATORS) $(REFERENCES); do $(BIN)/python -m tools.$$tool || exit 1; done
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet  # the variable hides an advertisement
	@$(BIN)/hwprices export report --root $(if $(wildcard data/latest.json),data,data/demo) --out site/report

bench: $(VENV)/.synced  ## performance: every script of bench/ at full size, and one table
	@$(BIN)/python -m bench

bench-check: $(VENV)/.synced  ## the small sizes, their ratios compared with the recorded ones
	@$(BIN)/python -m bench --check $(SCRIPTS)

serve: $(VENV)/.synced  ## a Prefect server, the scheduled flows and a worker, on this machine
	@$(BIN)/hwprices admin serve

lock: | $(BIN)/python $(UV)  ## renew uv.lock
	@$(UV) lock --python $(BIN)/python

clean:  ## delete what runs made (releases too), not the environment
	rm -rf $(OUTPUTS)
