# Everyday commands. `make` alone lists them.
#
# Needs Python 3.11 to 3.13 with its headers, and gcc with g++; the rest goes into .venv.

PYTHON ?= python3
VENV   ?= .venv
# By default what the environment has already.
TORCH  ?= $(shell cat '$(VENV)/torch-choice' 2>/dev/null || echo torch==2.13.0)
EXTRAS ?= $(shell cat '$(VENV)/extras-choice' 2>/dev/null || echo dev,embed,export,report,subword)
# Not ?=: a DATA in the environment is somebody's data, not this choice.
DATA   := toy
JOBS   ?= 2
PYTEST_ARGS ?=
GPU_PYTHON ?= $(VENV)/bin/python

# The stamp is named after the choices, so that another TORCH or EXTRAS installs again.
CHOICE := $(shell printf '%s' '$(TORCH) $(EXTRAS)' | cksum | cut -d' ' -f1)
STAMP  := $(VENV)/installed-$(CHOICE)
BIN    := $(VENV)/bin
# Each worker has one thread (tests/conftest.py). Stealing keeps a long file from being left to one
# of them at the end; what lies together mostly stays together.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

CHECKS := $(addprefix tests/unit/patches/required/test_,hostile_options.py literal_options.py \
	safe_checkpoints.py whole_checkpoints.py atomic_checkpoint.py resumed_batches.py \
	stop_signals.py rank_watch.py) tests/unit/checkpoints \
	tests/unit/models/test_dictionary_check.py \
	$(addprefix tests/system/test_,signals.py resuming.py save_folder.py data_parallel.py)

.DEFAULT_GOAL := help
.PHONY: help setup demo speed test mutation faults soak gpu check format system lock clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'
	@echo
	@echo "Settings (make demo DATA=multi30k):"
	@echo "  PYTHON=$(PYTHON)  TORCH=$(TORCH)  EXTRAS=$(EXTRAS)  VENV=$(VENV)  DATA=$(DATA)  JOBS=$(JOBS)"

setup: $(STAMP)  ## create .venv and install everything into it
ifneq ($(origin PYTHON),file)
	@[ "$$('$(BIN)/python' --version)" = "$$('$(PYTHON)' --version)" ] || { \
		echo "setup: $(VENV) has $$('$(BIN)/python' --version); for another add VENV=.venv-other" >&2; exit 1; }
endif

# Written last and only on success: a failed or interrupted set-up is never taken for a whole one.
$(STAMP): $(wildcard requirements/*.txt) setup.py .ci/setup
	@PYTHON='$(PYTHON)' VENV='$(VENV)' TORCH='$(TORCH)' EXTRAS='$(EXTRAS)' .ci/setup
	@touch '$@'

demo: $(STAMP)  ## train, translate and score small models (DATA=multi30k: on real captions)
	@OUTLAYERS_PYTHON='$(BIN)/python' DATA='$(DATA)' recipes/demo/run.sh

speed: $(STAMP)  ## a minute: train with 100,000 words as fairseq does, and by samples (3 GB)
	PYTHONPATH=. OMP_NUM_THREADS=1 $(BIN)/python benchmarks/large_vocabulary.py --rounds 1 \
		--vocabularies 100000 --arms stock adaptive sampled --updates 10 --output work/speed.json

test: $(STAMP)  ## run every test that needs no GPU
	$(PYTEST) -m "not gpu" --ignore=tests/faults $(PYTEST_ARGS)
	@# Apart: these fork their process, which must not have computed on a (pretended) device.
	$(PYTEST) -m "not gpu" $(PYTEST_ARGS) tests/faults

mutation: $(STAMP)  ## which small changes of losses, samplers, tables, partitions go unnoticed?
	$(BIN)/python -m tests.mutation

faults: $(STAMP)  ## kill, damage and mistype everything for half an hour; results/reliability.md
	rm -rf work/faults && mkdir -p work/faults && touch work/faults/started
	OUTLAYERS_FAULTS=all OUTLAYERS_FAULTS_FIGURES='$(CURDIR)/work/faults' $(PYTEST) \
		--dist load tests/faults $(PYTEST_ARGS)
	@# What has tests of its own: hostile and damaged checkpoints, locks, signals, resuming.
	$(PYTEST) -m "not gpu" --junitxml=work/faults/checks.xml $(CHECKS) $(PYTEST_ARGS)
	touch work/faults/ended
	$(BIN)/python -m tests.faults.report

soak: $(STAMP)  ## decode and train for 20 minutes and watch memory; results/reliability.md
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.soak 20
	$(BIN)/python -m tests.faults.report

# Not $(BIN): a GPU's machine has a PyTorch of its own, with CUDA, and fairseq beside it.
gpu:  ## on a machine with a GPU: its tests and benchmarks, in one JSON file (GPU_PYTHON=python)
	PYTHONPATH=. $(GPU_PYTHON) benchmarks/gpu.py

system: $(STAMP)  ## run only the tests that train, save, reload and decode
	$(PYTEST) -m "system and not gpu" $(PYTEST_ARGS)

check: $(STAMP)  ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## rewrite the code in the project's formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:  ## write requirements/ anew from constraints.txt (needs the command hashin)
	@.ci/lock

clean:  ## remove .venv, caches and the demo's files (trained recipes in work/ stay)
	@# Only an environment that .ci/setup made: VENV may name somebody's own.
	if [ -e '$(VENV)/made-by-make-setup' ]; then rm -rf '$(VENV)'; fi
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache work/demo
	find . -path ./work -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
