# Needs make and Python 3.11 or newer; everything else is installed into .venv on first use.
# Another interpreter: make PYTHON=python3.13 ... (after `make clean`, if .venv exists).

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CACHES := .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The stamp holds the folder that .venv was made for: a half-made .venv, or one that came along when
# the checkout was moved or copied, is made anew instead of quietly running another checkout's code.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
FRESH := --clear
endif

.PHONY: help
help: ## Show this list
	@echo "usage: make TARGET"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## Install everything into .venv (every target below does it when needed)

$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "error: no $(PYTHON) found. wayproof needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: $(PYTHON) is $$("$(PYTHON)" --version 2>&1). wayproof needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@echo "making .venv with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(FRESH) $(VENV)
	@echo "installing into .venv (once; this takes a minute or two)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@printf '%s' '$(CURDIR)' >$(STAMP)
	@echo "installed"

.PHONY: conformance
conformance: $(STAMP) ## Judge the SQLite implementation by the suite
	$(BIN)/wayproof check

.PHONY: test
test: $(STAMP) ## Run this repository's own tests
	$(BIN)/pytest -n $(JOBS)

.PHONY: types
types: $(STAMP) ## Check types (mypy, strict)
	$(BIN)/mypy

.PHONY: lint
lint: $(STAMP) ## Check style and formatting (ruff)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: layers
layers: $(STAMP) ## Check who imports whom (import-linter)
	$(BIN)/ruff check --select INP001 # import-linter does not look into a folder without __init__.py
	$(BIN)/lint-imports --no-logo

.PHONY: generated
generated: $(STAMP) ## Check that every generated file is what its generator writes today
	$(BIN)/wayproof generate --check

.PHONY: evidence
evidence: evidence-vectors evidence-matrix evidence-explore evidence-variants ## Check the chain from clause to verdict

.PHONY: evidence-vectors
evidence-vectors: $(STAMP)
	$(BIN)/wayproof vectors verify

.PHONY: evidence-matrix
evidence-matrix: $(STAMP)
	$(BIN)/wayproof matrix

.PHONY: evidence-explore
evidence-explore: $(STAMP)
	$(BIN)/wayproof explore

.PHONY: evidence-variants
evidence-variants: $(STAMP)
	$(BIN)/wayproof variants --every 5
	@echo 'NOT CHECKED HERE: VARIANTS ON THE OTHER FOUR FIFTHS OF THE VECTORS (make variants)'

.PHONY: mutants
mutants: $(STAMP) ## See that every planted fault is caught (ten minutes)
	$(BIN)/wayproof mutants --set named
	$(BIN)/wayproof mutants --set generated
	@echo 'Those written blind are told, survivors and all; they fail nothing:'
	$(BIN)/wayproof mutants --set blind || [ $$? -eq 1 ]

.PHONY: variants
variants: $(STAMP) ## See that no allowed deviation is accused (half an hour)
	$(BIN)/wayproof variants

.PHONY: format
format: $(STAMP) ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: lock
lock: ## Write constraints.txt anew, from the newest versions that pyproject.toml admits
	@"$(PYTHON)" -m venv --clear build/lock
	@build/lock/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@{ echo "# Every version that [dev] was tested with. Written by: make lock"; \
	   build/lock/bin/python -m pip freeze --exclude-editable; } >build/constraints.txt
	@mv build/constraints.txt constraints.txt
	@rm -rf build/lock

.PHONY: clean
clean: ## Remove .venv, caches and build output
	rm -rf $(VENV) $(CACHES)
