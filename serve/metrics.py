"""What the service counts, for Prometheus. Labels are names and codes; no text of a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter("workbench_calls", "Calls that ended", ("call", "code"), registry=self._registry)
        self._open = Gauge("workbench_calls_open", "Calls that wait or run", ("call",), registry=self._registry)
        self._seconds = Histogram(
            "workbench_call_seconds", "From request to answer", ("call",), registry=self._registry, buckets=_SECONDS
        )

    @contextmanager
    def running(self, call: str) -> Iterator[None]:
        """Count a call as open."""
        with self._open.labels(call).track_inprogress():
            yield

    def ended(self, call: str, code: str, seconds: float) -> None:
        """Count a call that ended with this code (`ok` for an answer)."""
        self._calls.labels(call, code).inc()
        self._seconds.labels(call).observe(seconds)

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)
