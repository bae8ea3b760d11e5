# Everything is built in $(VENV) as it is needed; nothing asks.
VENV ?= .venv
PYTHON ?= python3
# What `make tables` is made of: the committed reference records where they are, else the demonstration's.
SWEEP ?= $(if $(wildcard results/reference/records),reference,demo)
RECORDS ?= results/$(SWEEP)/records
OUT ?= $(patsubst %/records,%,$(RECORDS))
ANALYSIS ?= $(SWEEP)
ARGS ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready
# As many processes as there are cores; one that is done takes tests from another.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
.DEFAULT_GOAL := help
.PHONY: help setup bench test cluster-tests floors faults coverage lint types data paper attention-pooling length-generalization tables report speed explorer licences clean

help:  ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Variables: VENV, PYTHON, SWEEP (demo, paper, reference, attention_pooling, length_generalization) or RECORDS, OUT, ANALYSIS, and ARGS for further overrides (make bench ARGS='parallel=1')"

setup: $(READY)  ## install the pinned packages into $(VENV)

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m normalizers.native
	@touch $@

bench: setup  ## run the demonstration: 2 data sets, 7 normalizers, 5 seeds; tables, figures and a report
	$(BIN)/python -m bench experiment=demo $(ARGS)
	$(BIN)/python -m analysis records=results/demo/records out=results/demo analysis=demo

test: setup  ## run all tests
	$(PYTEST) $(ARGS)

floors: setup  ## run a quick part of the tests with the lowest versions of the packages that pyproject.toml allows
	.ci/floors $(ARGS)

# Most tests wait for the clusters most of the time, so that more of them run at once than there are processors.
cluster-tests: setup  ## run the tests marked cluster with a real Slurm and Ray, started for them on this machine; needs root
	$(BIN)/python tests/cluster/run.py --install $(BIN)/python -m pytest -n 5 --dist worksteal -m cluster $(ARGS)

faults: setup  ## break things on purpose and print what each fault cost: records lost, wrong results, the message
	$(PYTEST) -m fault $(ARGS)

coverage: setup  ## run all tests and report the lines they reach; fails below 90 %
	$(PYTEST) --cov $(ARGS)

lint: setup  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## check types
	$(BIN)/mypy

data: setup  ## fetch and prepare all data sets (ARGS='kmnist digits' for some)
	$(BIN)/python -m bench data $(ARGS)

paper: setup  ## run the published sweep, 350 runs, and make its tables
	$(BIN)/python -m bench experiment=paper $(ARGS)
	$(BIN)/python -m analysis records=results/paper/records out=results/paper analysis=paper

POOLING := results/attention_pooling
attention-pooling: setup  ## run the attention-pooling study, 300 runs; tables, figures, animation
	$(BIN)/python -m bench experiment=attention_pooling $(ARGS)
	$(BIN)/python -m bench experiment=attention_pooling dataset.length=64,128 $(ARGS)
	$(BIN)/python -m bench experiment=attention_pooling normalizer=bounded_entmax_bisection dataset.length=4,8,16,32,64,128 $(ARGS)
	$(BIN)/python -m analysis records=$(POOLING)/records out=$(POOLING) analysis=attention_pooling
	$(BIN)/python -m bench frames $(POOLING)
	$(BIN)/python -m analysis animate $(POOLING)

LENGTHS := results/length_generalization
length-generalization: setup  ## run the study of sequence lengths, 150 runs; tables and figure
	$(BIN)/python -m bench experiment=length_generalization $(ARGS)
	$(BIN)/python -m analysis records=$(LENGTHS)/records out=$(LENGTHS) analysis=length_generalization

tables: setup  ## make tables, figures and report again from RECORDS, without training
	$(BIN)/python -m analysis records=$(RECORDS) out=$(OUT) analysis=$(ANALYSIS)

report: tables  ## the same, and say where the report lies
	@echo "open $(OUT)/report.html"

speed: setup  ## measure what each normalizer costs
	$(BIN)/python -m bench speed

licences: setup  ## list the licence of every pinned package in docs/licences.md
	@{ echo "# Licences of the pinned packages"; echo; echo "Made by \`make licences\` from what the packages say of themselves."; echo; \
	  $(BIN)/pip-licenses --from=mixed --format=markdown --order=name --with-system --packages $$(sed -n 's/[=;].*//p' requirements.lock); } > docs/licences.md

explorer: setup  ## write results/explorer.html, the theory as a page to play with
	$(BIN)/python -m bench explorer

clean:  ## remove $(VENV) and caches; data and results stay
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
