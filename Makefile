# Everything a developer or CI does. `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_FLAGS ?= --quiet --disable-pip-version-check
PYTEST ?=
BENCH ?=
SAMPLE := sample_traces/synthetic/pd-oneprofile.sqlite

.DEFAULT_GOAL := help
.PHONY: help setup setup-run demo test report reports traces lint format types imports docs docs-write smoke coverage check bench bench-check bench-stages lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "nsysparse needs Python 3.11 or newer; $(PYTHON) is older. Try: make $(MAKECMDGOALS) PYTHON=python3.13" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml $(VENV)/.run
	$(BIN)/python -m pip install $(PIP_FLAGS) --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

setup: $(VENV)/.dev  ## set up .venv with the locked packages, for development
setup-run: $(VENV)/.run  ## set up .venv with what nsysparse needs at run time only

demo: setup-run  ## report on a synthetic prefill/decode sample and say where the HTML lies
	@$(BIN)/nsysparse report $(SAMPLE) --link ib-ndr --model llama-3-8b --force
	@echo "Open it in a browser: $(CURDIR)/reports/pd-oneprofile.html"

report: setup-run  ## report on your own trace: make report TRACE=path/to/trace.sqlite
	@test -n "$(TRACE)" || { echo "Which trace? make report TRACE=path/to/trace.sqlite" >&2; exit 2; }
	@$(BIN)/nsysparse report "$(TRACE)"

test: setup  ## run all tests, or those that PYTEST="…" leaves
	$(BIN)/python -m pytest -n auto $(PYTEST)

lint: setup  ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup  ## apply the formatter and safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup  ## mypy --strict on the package and the action's scripts
	$(BIN)/mypy
	$(BIN)/mypy action/*.py

imports: setup  ## who may import whom
	$(BIN)/lint-imports

docs: setup  ## the generated reference pages are current
	$(BIN)/python docs/generate.py --check
	$(BIN)/python tests/benchmarks/table.py --check

docs-write: setup  ## write the generated reference pages
	$(BIN)/python docs/generate.py
	$(BIN)/python tests/benchmarks/table.py

smoke: setup  ## the built wheel works in a clean environment, outside this folder
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	$(BIN)/python -m pip wheel $(PIP_FLAGS) --no-deps --no-build-isolation --wheel-dir "$$dir" .; \
	$(PYTHON) -m venv "$$dir/venv"; \
	"$$dir/venv/bin/python" -m pip install $(PIP_FLAGS) --require-hashes --no-deps -r requirements.lock; \
	"$$dir/venv/bin/python" -m pip install $(PIP_FLAGS) --no-deps "$$dir"/*.whl; \
	cd "$$dir"; venv/bin/nsysparse report "$(CURDIR)/$(SAMPLE)" --link ib-ndr -q | head -1; \
	test -s reports/pd-oneprofile.html; venv/bin/nsysparse convention | head -1; \
	venv/bin/nsysparse convention --python -o dropped.py; $(PYTHON) -I -S dropped.py; echo "smoke: the wheel works"

coverage: setup  ## run all tests and show which lines and branches none of them reaches
	$(BIN)/python -m pytest -n auto --cov --cov-report=term-missing:skip-covered

check: lint types imports docs smoke test  ## everything CI runs

reports: setup  ## regenerate reports/ from the sample traces
	$(BIN)/python reports/regenerate.py

traces: setup  ## regenerate the synthetic sample traces
	$(BIN)/python sample_traces/generate.py

bench: setup  ## measure what docs/explanation/performance.md demands, as ratios, or as BENCH="…" says
	$(BIN)/python tests/benchmarks/bench.py $(BENCH)

bench-check: setup  ## the same on small traces: fail where a demand is missed or a ratio got worse than recorded
	$(BIN)/python tests/benchmarks/bench.py --check $(BENCH)

bench-stages: setup  ## growth of the work after reading with transfers, files and nesting; comparisons, and the annotation
	$(BIN)/python tests/benchmarks/diff_ratio.py
	$(BIN)/python tests/benchmarks/growth.py
	$(BIN)/python tests/benchmarks/files.py
	$(BIN)/python tests/benchmarks/nesting.py
	$(BIN)/python tests/benchmarks/annotate_overhead.py

lock:  ## resolve the lock files again (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.lock --python-version 3.11 --upgrade requirements-build.in
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -o requirements-dev.lock --python-version 3.11 -c requirements.lock requirements-build.in

clean:  ## remove what the targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .artefacts reports/*.html
