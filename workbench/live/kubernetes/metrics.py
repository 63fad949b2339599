"""`serve_metrics`: what an operator did, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import ClusterError, InputError
from workbench.live.kubernetes.operator import Operator
from workbench.optional import optional

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ["host_and_port", "serve_metrics"]


def host_and_port(text: str, option: str = "--metrics") -> tuple[str, int]:
    """Host and port of a text ``[HOST:]PORT``, loopback without a host; `InputError` names the option otherwise."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError("not an address", source=option, got=repr(text), expected="[HOST:]PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def serve_metrics(operator: Operator, host: str, port: int) -> None:
    """Serve the metrics of an operator at ``http://HOST:PORT/metrics`` as long as this process lives.

    Raises ClusterError: the address cannot be used.
    """
    with optional("live"):
        from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(operator))
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise ClusterError(f"metrics at {host}:{port}: {error.strerror}") from None


class _Collector:
    """Reads the counts of an operator at the moment when Prometheus asks."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def collect(self) -> Iterator[Metric]:
        """The metrics with their present values."""
        with optional("live"):
            from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        operator = self._operator
        events = CounterMetricFamily("workbench_events", "Lines of the operator's log, by reason.", labels=["reason"])
        for reason, count in sorted(dict(operator.events).items()):
            events.add_metric([reason], count)
        yield events
        bindings = CounterMetricFamily("workbench_bindings", "Pods bound or not, by outcome.", labels=["outcome"])
        for outcome, count in sorted(dict(operator.store.bindings).items()):
            bindings.add_metric([outcome], count)
        yield bindings
        lost = CounterMetricFamily("workbench_watches_lost", "Watches that broke or expired, by kind.", labels=["kind"])
        for kind, count in sorted(dict(operator.store.lost).items()):
            lost.add_metric([kind], count)
        yield lost
        for name, text, value in (
            ("workbench_pending_gangs", "Gangs without a place in the last session.", operator.pending),
            ("workbench_leader", "1 while this process holds the Lease.", int(operator.started)),
        ):
            yield GaugeMetricFamily(name, text, value=value)
