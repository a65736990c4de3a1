# Every target sets up what it needs, on a fresh machine and again.

PYTHON ?= python3
BIN := .venv/bin
SET_UP := .venv/.stamp
KB ?= $(wildcard ../shared/kb)
ARGS ?=
export WORKBENCH_HOME ?= $(CURDIR)/.home

EXTRAS_lab := models,lab,evaluation,serve
EXTRAS_dev := models,torch,lab,serve,evaluation,dev
EXTRAS_bench := models,torch,serve,bench

.PHONY: help quickstart lab test check bench
.SECONDARY:

help:
	@echo "make quickstart   set up, index the example memory, run the first notebooks"
	@echo "make lab          open JupyterLab on the notebooks"
	@echo "make test         set up and run the tests; ARGS='--slow --spec-report' for all of them"
	@echo "make check        format, lint, types and the house rules"
	@echo "make bench        speed beside other engines; KB=FOLDER names the Markdown to measure on"

quickstart: $(SET_UP)-lab
	@echo "Installing the embedding model …"
	@$(BIN)/workbench models install e5-small
	@echo "Running notebooks/00_quickstart.ipynb …"
	@$(BIN)/python -m workbench.views.notebooks notebooks/00_quickstart.ipynb outputs/00_quickstart.ipynb
	@echo "Running notebooks/20_report.ipynb over the questions of fixtures/ …"
	@$(BIN)/python -m workbench.views.notebooks notebooks/20_report.ipynb outputs/20_report.ipynb
	@echo
	@echo "Done. The executed notebooks, with their tables and plots: outputs/00_quickstart.ipynb, outputs/20_report.ipynb"
	@echo "Models, indexes and the stored runs:                     $(WORKBENCH_HOME)"
	@echo "To look at it and change it:                             make lab"
	@echo "To ask a folder of your own:"
	@echo "  WORKBENCH_HOME='$(WORKBENCH_HOME)' $(BIN)/workbench --project FOLDER activate 'your question'"

lab: $(SET_UP)-lab
	@$(BIN)/jupyter lab --ServerApp.root_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

test: $(SET_UP)-dev
	@for model in e5-small minilm-l6 minilm-l12-ce; do $(BIN)/workbench models install $$model || exit; done
	@$(BIN)/pytest $(ARGS)

check: $(SET_UP)-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest -n0 -q tests/test_house.py

bench: $(SET_UP)-bench
	@$(BIN)/workbench models install e5-small
	@$(BIN)/python -m benchmarks $(if $(KB),--kb '$(KB)') $(ARGS)

$(SET_UP)-%: pyproject.toml constraints.txt | $(SET_UP)
	@echo "Installing the packages for '$*' (minutes the first time) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS_$*)]'
	@touch $@

$(SET_UP):
	@echo "Making .venv …"
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	@$(PYTHON) -m venv .venv
	@touch $@
