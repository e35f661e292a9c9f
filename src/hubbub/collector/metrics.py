"""Counters in the text format of Prometheus. They are sums over everybody: nothing in them is about one report."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_HELP: Final = {
    "hubbub_reports_total": ("counter", "Reports by what became of them."),
    "hubbub_refused_uploads_total": ("counter", "Uploads refused, by the kind of problem."),
    "hubbub_commits_total": ("counter", "Group commits."),
    "hubbub_commit_seconds_total": ("counter", "Time spent in group commits."),
    "hubbub_commit_failures_total": ("counter", "Group commits that failed; their uploads got 503."),
    "hubbub_folds_total": ("counter", "Times that pending reports were folded into tallies."),
    "hubbub_fold_failures_total": ("counter", "Times that folding failed and is tried again."),
    "hubbub_answers_total": ("counter", "Answers computed for the owner."),
    "hubbub_waiting_bytes": ("gauge", "Bytes of uploads that are not yet durable."),
}


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self._values: Counter[tuple[str, str]] = Counter()
        self._gauges: dict[str, Callable[[], float]] = {}
        self._lock = threading.Lock()

    def add(self, name: str, amount: float = 1, label: str = "") -> None:
        """Count; `label` is written as in the format, for example `status="accepted"`."""
        with self._lock:
            self._values[name, label] += amount  # type: ignore[assignment]  # a Counter of floats adds just as well

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """Show what `read` says at the moment of asking."""
        self._gauges[name] = read

    def render(self) -> str:
        """All of them, for a scrape."""
        with self._lock:
            values = dict(self._values)
        values.update({(name, ""): read() for name, read in self._gauges.items()})  # type: ignore[misc]
        lines = []
        for name, (kind, text) in _HELP.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            mine = sorted((label, value) for (metric, label), value in values.items() if metric == name)
            lines += [f"{name}{{{label}}} {value:.10g}" if label else f"{name} {value:.10g}" for label, value in mine]
        return "\n".join(lines) + "\n"
