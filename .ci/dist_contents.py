"""Check what a sdist and a wheel hold: ``dist_contents.py CHECKOUT SDIST WHEEL``."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

#: What the licences of this package and of the code inside it ask to be passed on.
NOTICES = frozenset({"LICENSE", "NOTICE", "workbench/widgets/static/THIRD-PARTY-LICENSES.txt"})

#: Endings of the files that examples and `workbench.datasets` read.
DATA = frozenset({".yaml", ".csv", ".txt", ".json"})

SOURCES = frozenset({".pyx", ".pxd", ".pyi", ".py"})


def problems_of_sdist(names: set[str], checkout: Path) -> list[str]:
    """Sources, stubs and tests that are missing; built files, of which there should be none."""
    needed = {f"_core/{p.name}" for p in (checkout / "_core").iterdir() if p.suffix in SOURCES}
    needed |= {name.replace("_core/", "workbench/_core/") for name in needed}
    needed |= {p.relative_to(checkout).as_posix() for p in (checkout / "tests").rglob("*.py")}
    needed |= {
        "pyproject.toml",
        "setup.py",
        *(p.name for p in checkout.glob("requirements*.lock")),
        "README.md",
        "workbench/py.typed",
    }
    needed |= NOTICES | {"tests/conformance/PROVENANCE.md"}
    found = [f"sdist lacks {name}" for name in sorted(needed - names)]
    return found + [f"sdist holds {name}" for name in sorted(names) if name.endswith((".so", ".c", ".pyd", ".pyc"))]


def problems_of_wheel(names: set[str], checkout: Path) -> list[str]:
    """Modules, stubs, templates and licences that the wheel lacks; anything outside the package."""
    package = checkout / "workbench"
    needed = {
        p.relative_to(checkout).as_posix()
        for p in package.rglob("*")
        if p.is_file()
        and (p.suffix == ".py" or {"templates", "static"} & set(p.parts))
        and "__pycache__" not in p.parts
    }
    needed |= {f"workbench/_core/{p.name}" for p in (checkout / "_core").iterdir() if p.suffix in (".pyi", ".py")}
    needed.add("workbench/py.typed")
    data = checkout / "datasets"
    needed |= {f"workbench/formats/data/{p.relative_to(data).as_posix()}" for p in data.rglob("*") if p.suffix in DATA}
    found = [f"wheel lacks {name}" for name in sorted(needed - names)]
    licences = {name.partition(".dist-info/licenses/")[2] for name in names}
    found += [f"wheel lacks {name} among its licences" for name in sorted(NOTICES - licences)]
    for kernel in [*sorted(p.stem for p in (checkout / "_core").glob("*.pyx")), "_cyutil"]:
        built = [n for n in names if n.startswith(f"workbench/_core/{kernel}.") and n.endswith((".so", ".pyd"))]
        if len(built) != 1:
            found.append(f"wheel holds {len(built)} compiled modules of {kernel}")
    tops = {name.split("/")[0] for name in names}
    strays = sorted(top for top in tops if top != "workbench" and not top.endswith(".dist-info"))
    return found + [f"wheel installs a stray top-level '{top}'" for top in strays]


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    checkout, sdist, wheel = map(Path, sys.argv[1:])
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    found = problems_of_sdist(in_sdist, checkout) + problems_of_wheel(in_wheel, checkout)
    print("\n".join(found) or f"complete: {len(in_sdist)} entries in the sdist, {len(in_wheel)} in the wheel")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
