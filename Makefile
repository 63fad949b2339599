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
UV := $(shell command -v uv 2>/dev/null)

# Images set this, and then every process that a test starts compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

CORE_SOURCES := setup.py pyproject.toml $(wildcard _core/*.pyx _core/*.pxd _core/*.py)
CORE_MODULES := $(basename $(notdir $(wildcard _core/*.pyx))) _cyutil
PACKAGE_SOURCES := $(shell find workbench -name '__pycache__' -prune -o -type f -print) $(wildcard _core/*.pyi)

# A stamp says when something was built, not that it is still there: a module that was deleted by hand is built anew.
missing = $(if $(filter-out $(words $(CORE_MODULES)),$(words $(foreach m,$(CORE_MODULES),$(firstword $(wildcard $(1)/$(m).*.so))))),FORCE)

STUBTEST := --mypy-config-file pyproject.toml --allowlist tests/core/stubtest_allowlist.txt --ignore-unused-allowlist --ignore-disjoint-bases
DEMO_POLICIES := allocate,gang,binpack,spread,volcano-1.13,volcano-1.13+gpu-lowest-index

.DEFAULT_GOAL := help
.PHONY: help build demo test quick lab voila docs bench size widgets control-plane lint format sanitize kernels-debug dist-check lock clean FORCE
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.installed ## set up .venv, compile the kernels, install the package (editable)

demo: build ## compare six policies on the design documents' own cluster; writes out/report.html
	@mkdir -p out
	$(VENV)/bin/workbench compare -f datasets/demo --policies $(DEMO_POLICIES)
	@$(VENV)/bin/workbench compare -f datasets/demo --policies $(DEMO_POLICIES) -o html --out out/report.html
	@echo "report: out/report.html"

test: build ## everything: quick, slow, browser, notebooks, conformance
	$(PYTEST) $(SPREAD) -m ""

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

lock: ## refresh requirements.lock (needs uv)
	@command -v uv >/dev/null 2>&1 || { echo "make lock needs uv (pip install uv)" >&2; exit 1; }
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes --no-header --upgrade pyproject.toml -o requirements.lock

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
ifneq ($(UV),)
	$(UV) venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
else
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv (or install uv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
endif
	@touch $@

$(VENV)/.locked: requirements.lock $(VENV)/.python
ifneq ($(UV),)
	$(UV) pip install --quiet --python $(PY) --require-hashes -r requirements.lock
else
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
endif
	@touch $@

# --no-build-isolation: the locked Cython and numpy compile the kernels, and nothing is fetched twice.
$(VENV)/.installed: $(VENV)/.locked $(CORE_SOURCES) $(call missing,_core)
	$(PY) setup.py --quiet build_ext --inplace
ifneq ($(UV),)
	WORKBENCH_LINK_ONLY=1 $(UV) pip install --quiet --python $(PY) --no-build-isolation --no-deps --editable .
else
	WORKBENCH_LINK_ONLY=1 $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
endif
	@touch $@

$(VENV)/.built-debug: export WORKBENCH_CYTHON_DEBUG := 1
$(VENV)/.built-sanitize: export WORKBENCH_SANITIZE := 1
$(VENV)/.built-debug $(VENV)/.built-sanitize: $(VENV)/.built-%: $(VENV)/.locked $(CORE_SOURCES) $(PACKAGE_SOURCES)
	@# Modules that are gone from the tree must be gone from the copy, too.
	@find build/$*/lib -name '*.py' -delete 2>/dev/null || true
	$(PY) setup.py --quiet build --build-base build/$* --build-lib build/$*/lib
	@touch $@
$(VENV)/.built-debug: $(call missing,build/debug/lib/workbench/_core)
$(VENV)/.built-sanitize: $(call missing,build/sanitize/lib/workbench/_core)
