# Every target does its own set-up. `make` lists them.
#
#   PYTHON=python3.12 VENV=.venv-3.12   use another interpreter (one environment per interpreter)

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done; echo python3)
VENV ?= .venv

PY := $(VENV)/bin/python
# -P: the working directory must not come before PYTHONPATH, else a checked build would test the release kernels.
PYTEST := $(PY) -P -m pytest
# One process per core (auto counts two threads of a core once); each collects all tests, so more than eight do not pay.
SPREAD := -n logical --maxprocesses 8
# One more for everything: tests of the browser and of the API server wait a part of their time.
SPREAD_ALL = -n $$($(PY) -c 'import os; print(min(os.cpu_count() + 1, 8))')

# Images set this, and then every process that a test starts compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

CORE_SOURCES := setup.py pyproject.toml $(wildcard _core/*.pyx _core/*.pxd _core/*.py)
CORE_MODULES := $(basename $(notdir $(wildcard _core/*.pyx))) _cyutil
PACKAGE_SOURCES := $(shell find workbench -name '__pycache__' -prune -o -type f -print) $(wildcard _core/*.pyi)

# A stamp says when something was built, not that it is still there: a module that was deleted by hand is built anew.
missing = $(if $(filter-out $(words $(CORE_MODULES)),$(words $(foreach m,$(CORE_MODULES),$(firstword $(wildcard $(1)/$(m).*.so))))),FORCE)

STUBTEST := --mypy-config-file pyproject.toml --allowlist tests/core/stubtest_allowlist.txt --ignore-unused-allowlist --ignore-disjoint-bases
PHASE := @bash .ci/phase
BEGIN := $(shell date +%s)

# Before anything is installed, the demo compiles kernels of its own, quickly; else it runs what is installed.
ifeq ($(wildcard $(VENV)/.installed),)
DEMO_NEEDS := $(VENV)/.built-quick
DEMO := PYTHONPATH=build/quick/lib $(PY) -P -m workbench demo
else
DEMO_NEEDS := $(VENV)/.installed
DEMO := $(VENV)/bin/workbench demo
endif

.DEFAULT_GOAL := help
.PHONY: help build demo test quick lab voila docs bench size widgets control-plane lint format sanitize kernels-debug dist-check lock clean FORCE
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.locked $(VENV)/.installed ## set up .venv, compile the kernels, install the package (editable)

demo: $(DEMO_NEEDS) ## compare six policies on the design documents' own cluster; writes out/report.html
	@mkdir -p out
	$(PHASE) "compare six policies" env $(DEMO) --html out/report.html
	@echo "report: out/report.html, $$(($$(date +%s) - $(BEGIN))) s after make began"

test: build ## everything: quick, slow, browser, notebooks, conformance
	$(PYTEST) $(SPREAD_ALL) -m ""

quick: build ## the quick set of plain pytest, on all cores
	$(PYTEST) $(SPREAD)

lab: build ## JupyterLab on notebooks/workbench.ipynb and the others (ARGS=--no-browser)
	$(VENV)/bin/jupyter lab notebooks/workbench.ipynb $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

voila: build ## the workbench as a page without cells (ARGS=--no-browser)
	$(VENV)/bin/voila notebooks/workbench.ipynb $(ARGS)

# -E: what an earlier build read is of no use, because notebooks and docstrings follow the package.
docs: build ## the documentation site in build/docs, with executed notebooks; no network, no warning
	$(PY) -P -m sphinx -W --keep-going -q -E -j auto -b html -c docs . build/docs
	@echo "site: build/docs/index.html"

bench: build ## benchmarks beside their baselines, on one core (ARGS='--only NAME'); also build/bench.json
	$(PY) benchmarks/run.py $(ARGS)

size: build ## the package in numbers: lines, files, circles of imports
	$(VENV)/bin/python -m tests.size

widgets: ## bundle the page side of the widgets anew (needs Node)
	bash workbench/widgets/js/build

control-plane: ## build etcd, kube-apiserver, kube-scheduler, once, into the user's cache (needs Go 1.26)
	tests/controlplane/build

lint: build ## ruff, mypy strict, stubs against the built kernels
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PY) -m mypy.stubtest workbench._core $(STUBTEST)

format: build ## let ruff rewrite what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The checked builds live in build/<mode>/lib and are tested from there: PYTHONPATH puts them before the working
# directory (which pyproject's pythonpath would put first, hence the override), and WORKBENCH_EXPECT_CORE makes
# tests/core/test_build_under_test.py fail when other kernels were loaded.
checked-env = PYTHONPATH=build/$(1)/lib:. WORKBENCH_EXPECT_CORE=build/$(1)/lib
checked-args = -o pythonpath= -p no:cacheprovider -m "" tests/core

kernels-debug: $(VENV)/.built-debug ## kernel tests with bounds and initialization checks
	$(call checked-env,debug) $(PYTEST) $(SPREAD) $(checked-args)

# --capture=sys: a sanitizer writes its report to the file descriptor and ends the process, so pytest must not hold it.
# Leaks are the interpreter's own; PYTHONMALLOC=malloc lets the sanitizer see every object's borders. The sanitizers'
# libraries must be those of the compiler that setuptools used.
sanitize: $(VENV)/.built-sanitize ## kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cc="$$($(PY) -c 'import os, sysconfig; print((os.environ.get("CC") or sysconfig.get_config_var("CC")).split()[0])')"; \
	LD_PRELOAD="$$($$cc -print-file-name=libasan.so) $$($$cc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	$(call checked-env,sanitize) $(PYTEST) --capture=sys $(checked-args)

dist-check: build ## the sdist, and the wheel made from it, installed and tested outside the checkout
	bash .ci/check-dists $(PY)

# The development lock holds everything; the others hold parts of it, in the same versions.
COMPILE = PATH="$(VENV)/bin:$$PATH" uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: $(VENV)/.python ## refresh the three lock files (needs uv)
	$(COMPILE) --all-extras --group build --group operator --upgrade pyproject.toml -o requirements-dev.lock
	$(COMPILE) --group build -c requirements-dev.lock --upgrade pyproject.toml -o requirements.lock
	$(COMPILE) --group operator -c requirements-dev.lock --upgrade -o requirements-operator.lock

clean: ## remove everything that was built, and .venv
	rm -rf $(VENV) build dist out *.egg-info .mypy_cache .pytest_cache .ruff_cache
	rm -f _core/*.so _core/*.c

# ---- set-up ----

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null 2>&1 && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Topology Workbench needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' || { \
	  echo "$(PYTHON) has no header files (Python.h); on Debian: apt-get install python3-dev" >&2; exit 1; }
	@command -v "$${CC%% *}" >/dev/null 2>&1 || command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || { \
	  echo "No C compiler found; on Debian: apt-get install gcc, on macOS: xcode-select --install" >&2; exit 1; }
	$(PHASE) "environment $(VENV)" bash .ci/environment $(PYTHON) $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.lock $(VENV)/.python
	$(PHASE) "packages of requirements.lock" bash .ci/install $(PY) --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.locked: requirements-dev.lock $(VENV)/.python
	$(PHASE) "packages of requirements-dev.lock" bash .ci/install $(PY) --require-hashes -r requirements-dev.lock
	@touch $@

# --no-build-isolation: the locked Cython compiles the kernels, and nothing is fetched twice.
$(VENV)/.installed: $(VENV)/.runtime $(CORE_SOURCES) $(call missing,_core)
	$(PHASE) "kernels" $(PY) setup.py --quiet build_ext --inplace
	$(PHASE) "editable install" env WORKBENCH_LINK_ONLY=1 bash .ci/install $(PY) --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.built-quick: export WORKBENCH_QUICK := 1
$(VENV)/.built-debug: export WORKBENCH_CYTHON_DEBUG := 1
$(VENV)/.built-sanitize: export WORKBENCH_SANITIZE := 1
$(VENV)/.built-quick: $(VENV)/.runtime
$(VENV)/.built-debug $(VENV)/.built-sanitize: $(VENV)/.locked
$(VENV)/.built-quick $(VENV)/.built-debug $(VENV)/.built-sanitize: $(VENV)/.built-%: $(CORE_SOURCES) $(PACKAGE_SOURCES)
	@# Modules that are gone from the tree must be gone from the copy, too.
	@find build/$*/lib -name '*.py' -delete 2>/dev/null || true
	$(PHASE) "kernels, $* build" $(PY) setup.py --quiet build --build-base build/$* --build-lib build/$*/lib
	@touch $@
$(VENV)/.built-quick: $(call missing,build/quick/lib/workbench/_core)
$(VENV)/.built-debug: $(call missing,build/debug/lib/workbench/_core)
$(VENV)/.built-sanitize: $(call missing,build/sanitize/lib/workbench/_core)
