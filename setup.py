"""Build of the compiled kernels; everything else about the package stands in pyproject.toml.

Modes (environment variables), each with its own folder of generated C because Cython does not
notice changed directives:

- nothing: the release build, plain ``-O3``, without symbols for a debugger;
- ``WORKBENCH_QUICK=1``: the release build at ``-O1``, made in half the time: for a first look;
- ``WORKBENCH_CYTHON_DEBUG=1``: bounds and initialization checks on, ``-O1``;
- ``WORKBENCH_SANITIZE=1``: the checks plus AddressSanitizer and UndefinedBehaviorSanitizer;
- ``WORKBENCH_NATIVE=1``: adds ``-march=native`` (local experiments only, never a wheel);
- ``WORKBENCH_LINK_ONLY=1``: no kernels; for an editable install of a tree in which they are built, since pip would
  compile all of them in a folder of its own.
"""

import multiprocessing
import os
import sys

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

KERNELS = (
    "subsets",
    "clique_search",
    "tied_sets",
    "set_query",
    "subset_tables",
    "deal",
    "bottleneck",
    "tiers",
    "domains",
    "state_table",
    "hypernode_tree",
    "trial_fill",
    "search_parts",
    "dry_runs",
    "domain_counts",
    "job_state",
    "sub_job_scores",
    "sub_job_search",
    "attempt_trace",
    "best_attempt",
    "two_level",
    "repeated",
    "states",
    "sub_jobs",
    "switch_rules",
    "switches",
    "ledger",
    "ranges",
    "gpu_sharing",
    "fair_rates",
)

# Elsewhere a new process runs this file again, instead of the one translation that it is asked for.
PROCESSES = os.cpu_count() or 1 if sys.platform == "linux" else 0
if PROCESSES:
    multiprocessing.set_start_method("fork", force=True)

sanitize = os.environ.get("WORKBENCH_SANITIZE") == "1"
debug = sanitize or os.environ.get("WORKBENCH_CYTHON_DEBUG") == "1"
quick = os.environ.get("WORKBENCH_QUICK") == "1"
mode = "sanitize" if sanitize else "debug" if debug else "release"

compile_args = []
link_args = []
if sys.platform != "win32":
    # Contraction and fast-math would let two machines answer differently (docs/decisions.md, decision 5).
    compile_args = ["-O1" if debug or quick else "-O3", "-fno-math-errno", "-ffp-contract=off"]
    if not debug:
        # The interpreter's own flags ask for -g: four fifths of each module, and a tenth of the time, for nobody.
        compile_args.append("-g0")
        if sys.platform == "linux":
            link_args.append("-Wl,-s")
    if os.environ.get("WORKBENCH_NATIVE") == "1":
        compile_args.append("-march=native")
    if sanitize:
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g"]
        compile_args += sanitizers
        link_args += sanitizers


def extension(name: str, source: str) -> Extension:
    return Extension(f"workbench._core.{name}", [source], extra_compile_args=compile_args, extra_link_args=link_args)


extensions = []
if os.environ.get("WORKBENCH_LINK_ONLY") != "1":
    extensions += [extension(name, f"workbench/_core/{name}.pyx") for name in KERNELS]
    # One generated module holds the memoryview code that each kernel would otherwise repeat.
    extensions.append(extension("_cyutil", f"build/cython-{mode}/_cyutil.c"))

setup(
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    packages=find_packages(include=["workbench", "workbench.*"]),
    package_data={
        "": ["*.pyi", "*.pyx", "*.pxd", "py.typed", "templates/*", "static/*"],
        "workbench.formats": ["gpu-systems.csv", "model-sizes.csv", "calibration.json", "data/**/*"],
        "workbench.formats.matrices": ["link-speeds.csv"],
        "workbench.report": ["palette.json"],
    },
    ext_modules=cythonize(
        extensions,
        nthreads=PROCESSES,
        quiet=True,
        build_dir=f"build/cython-{mode}",
        compiler_directives={
            "language_level": 3,
            "boundscheck": debug,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": debug,
            "embedsignature": True,
            "embedsignature.format": "python",
            "binding": True,
            # The checks are wanted there, the advice to switch them off is not.
            "show_performance_hints": not debug,
        },
        shared_utility_qualified_name="workbench._core._cyutil",
    ),
)
