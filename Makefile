# Everything a checkout needs: make and Python 3.11 or newer. `make help` lists the targets.

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin

# The newest interpreter that is new enough; `make PYTHON=/path/to/python3.12 …` chooses another one.
PYTHON := $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$candidate"; exit; }; \
	done)

.DEFAULT_GOAL := help
.PHONY: help demo serve test lint lock clean need-python

help:
	@echo "make demo    install what is needed, load sample data, and start the dashboard"
	@echo "make serve   the same without sample data"
	@echo "make test    run the tests"
	@echo "make lint    check style, types and the direction of imports"
	@echo "make lock    resolve the dependencies in pyproject.toml into requirements/*.lock again"
	@echo "make clean   remove the virtual environment and caches (never the data folder)"

# `exec` lets Ctrl-C reach the program itself, which stops in order and ends with code 0.
demo: $(VENV)/.server
	@exec $(BIN)/python manage.py demo $(ARGS)

serve: $(VENV)/.server
	@exec $(BIN)/python manage.py serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy reviews
	$(BIN)/lint-imports

lock: $(VENV)/.lock-tool
	$(LOCK) --extra dev $(UPGRADE) -o requirements/dev.lock
	$(LOCK) --extra server -c requirements/dev.lock -o requirements/server.lock
	$(LOCK) --extra parity -c requirements/dev.lock -o requirements/parity.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- The virtual environment: one stamp for each lock, so nothing is installed twice

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml

$(VENV)/.made: | need-python
	@echo "Making a virtual environment in $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.server: requirements/server.lock $(VENV)/.made
	@echo "Installing the server's dependencies …"
	@$(PIP) --require-hashes -r requirements/server.lock
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.made
	@echo "Installing the dependencies for development …"
	@$(PIP) --require-hashes -r requirements/dev.lock
	@touch $@ $(VENV)/.server

$(VENV)/.lock-tool: $(VENV)/.made
	@$(PIP) uv
	@touch $@

need-python:
	@test -n "$(PYTHON)" || { \
		echo "Symfonic Review needs Python 3.11 or newer; found: $$(python3 --version 2>&1 || true)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is too old or not a Python: 3.11 or newer is needed." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) lacks the venv module (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
