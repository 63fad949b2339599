"""Count the packages of an environment: ``installed_size.py --packages MOST --mebibytes MOST``; status 1 above that."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import Distribution, distributions
from importlib.util import cache_from_source
from pathlib import Path

#: What makes an environment, whoever made it.
INSTALLERS = frozenset({"pip", "setuptools", "uv"})


def size(distribution: Distribution) -> int:
    """Bytes of the files of a distribution, those that Python compiles of them among them."""
    files = {Path(str(one.locate())) for one in distribution.files or ()}
    compiled = {Path(cache_from_source(str(one))) for one in files if one.suffix == ".py"}
    return sum(one.stat().st_size for one in files | compiled if one.is_file())


def main() -> int:
    """Print the packages and their size, the largest first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=int, required=True)
    parser.add_argument("--mebibytes", type=int, required=True)
    most = parser.parse_args()
    found = {
        one.metadata["Name"]: size(one) / 2**20 for one in distributions() if one.metadata["Name"] not in INSTALLERS
    }
    whole = sum(found.values())
    largest = sorted(found, key=lambda name: (-found[name], name))[:8]
    print(f"{len(found)} packages (at most {most.packages}), {whole:.0f} MiB (at most {most.mebibytes})")
    print(", ".join(f"{name} {found[name]:.0f}" for name in largest))
    return 1 if len(found) > most.packages or whole > most.mebibytes else 0


if __name__ == "__main__":
    sys.exit(main())
