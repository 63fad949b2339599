"""``python -m workbench``: the command line."""

from workbench.cli import main

raise SystemExit(main())
