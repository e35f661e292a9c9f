"""Counters for Prometheus. They are sums over all devices: nothing in them is about a single report.

Several workers share a directory with a file for each of them, and each worker answers with the sums over all files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the directory that workers share. prometheus_client reads it when it is imported."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would tell the time of a first report


class Metrics:
    """The metrics of one collector. Each worker process has one of these."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.reports = Counter("hubbub_reports", "Reports by what became of them.", ["status"], registry=registry)
        self.refused = Counter(
            "hubbub_refused_uploads", "Uploads refused, by the kind of problem.", ["problem"], registry=registry
        )
        self.commits = Counter("hubbub_commits", "Group commits.", registry=registry)
        self.commit_seconds = Counter("hubbub_commit_seconds", "Time spent in group commits.", registry=registry)
        self.commit_failures = Counter(
            "hubbub_commit_failures", "Group commits that failed; their uploads got 503.", registry=registry
        )
        self.folds = Counter("hubbub_folds", "Times that pending reports were folded into tallies.", registry=registry)
        self.fold_failures = Counter(
            "hubbub_fold_failures", "Times that folding failed and will be tried again.", registry=registry
        )
        self.answers = Counter("hubbub_answers", "Answers computed for the owner.", registry=registry)
        self.waiting_bytes = Gauge(
            "hubbub_waiting_bytes",
            "Bytes of uploads that are not yet durable.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus: of this process, or of all workers together."""
        registry = self._registry
        if DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_dead_workers(directory: str) -> None:
    """Remove the gauges of workers that were killed. Otherwise the uploads they had would be shown for ever."""
    for file in Path(directory).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]
        except PermissionError:  # the number belongs to a process of somebody else now
            pass
