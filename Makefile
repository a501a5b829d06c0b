# Two commands do everything: `make run` and `make test`. Both set up .venv first; uv is fetched into it when it is not on the machine.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := $(VENV)
unexport VIRTUAL_ENV

.PHONY: help run live test check bench serve docs lock clean

help:  ## what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

# The environment is up to date when this file is newer than the lock.
$(VENV)/.synced: pyproject.toml uv.lock
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is not here: install Python 3.11 or newer, or call make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11: call make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@set -e; \
	if command -v uv >/dev/null; then uv=uv; \
	elif test -x $(BIN)/uv; then uv=$(BIN)/uv; \
	else $(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null; \
	     $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.8,<1"; uv=$(BIN)/uv; fi; \
	$$uv sync --quiet --locked --inexact --extra dev --python $(BIN)/python
	@touch $@

run: $(VENV)/.synced  ## collect from the bundled sample and publish a release under data/ (offline)
	@$(BIN)/python -m hwprices.flows.refresh --source sample

live: $(VENV)/.synced  ## the same from the vendors, into data/live (credentials optional, see README)
	@$(BIN)/python -m hwprices.flows.refresh --source live --root data/live

test: $(VENV)/.synced  ## all tests
	@$(BIN)/python -m pytest -n auto --dist loadfile

check: $(VENV)/.synced  ## lint, types, import directions, generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tools.data_dictionary --check

docs: $(VENV)/.synced  ## write the data dictionary from the schemas
	@$(BIN)/python -m tools.data_dictionary

bench: $(VENV)/.synced  ## performance, side by side, as ratios
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

serve: $(VENV)/.synced  ## a Prefect server, a work pool, the deployments and a worker, on this machine
	@$(BIN)/python -m hwprices.flows.serve

lock: ## renew uv.lock
	@uv lock

clean:  ## delete what runs made (releases too), not the environment
	rm -rf data/raw data/staged data/releases data/quarantine data/latest.json data/.prefect data/.publish.lock data/live
