"""Fixtures of the command line for formats that only a command reads."""

from tests.cli.conftest import run  # noqa: F401 - a fixture
