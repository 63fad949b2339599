"""The API server on which the contract of a store is tested."""

from tests.controlplane.conftest import control_plane  # noqa: F401 - a fixture
