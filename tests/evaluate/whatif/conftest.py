"""The fixture of the command line, for remedies that are written as manifests."""

from tests.cli.conftest import run  # noqa: F401 - a fixture
