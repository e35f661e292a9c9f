"""Counters and gauges for Prometheus. They are sums over all devices: nothing in them is about a single report.

Several workers share a directory with a file for each of them, and each worker returns the sums over all files.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from hubbub.collector.rates import NOTICE_TIMES, expected_so_far, is_above
from hubbub.collector.workers import METRICS_DIRECTORY
from hubbub.errors import HubbubError
from hubbub.store.daily import uploads_by_survey
from hubbub.store.overview import list_surveys
from hubbub.store.schema import database_file
from hubbub.store.store import Store

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
FACTS_SECONDS: Final = 1.0
"""For how long, at least, the gauges of the store are not read again."""

_FACTS_REST: Final = 20.0  # pause after the gauges of the store were read, in times its duration

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would tell the time of a first report


class Metrics:
    """The metrics of one collector. Each worker process has one of these.

    `by_status` has the numbers of reports that were accepted, duplicate and invalid, in this order.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            """Make a counter."""
            return Counter(f"hubbub_{name}", about, labels, registry=registry)

        def gauge(name: str, about: str, mode: Literal["max", "livemax", "livesum"]) -> Gauge:
            """Make a gauge; `mode` says how those of several workers become one."""
            return Gauge(f"hubbub_{name}", about, registry=registry, multiprocess_mode=mode)

        self.reports = counter("reports", "Reports by what became of them.", "status")
        self.refused = counter("refused_uploads", "Uploads refused, by the kind of problem.", "problem")
        self.commits = counter("commits", "Group commits.")
        self.commit_seconds = counter("commit_seconds", "Time spent in group commits.")
        self.commit_failures = counter("commit_failures", "Group commits that failed; their uploads got 503.")
        self.folds = counter("folds", "Times that pending reports were folded into tallies.")
        self.fold_failures = counter("fold_failures", "Times that folding failed and will be tried again.")
        self.owner_refusals = counter(
            "owner_refusals", "Requests without the owner's token, and logins with a wrong code."
        )
        self.answers = counter("answers", "Answers computed for the owner.")
        self.last_fold = gauge(
            "last_fold_timestamp_seconds",
            "When pending reports were last folded without an error, in seconds since 1970.",
            "max",
        )
        self.purge_progress = gauge(
            "purge_progress_timestamp_seconds",
            "When the purge of a survey last got on, in seconds since 1970; 0 if there is nothing to purge.",
            "livemax",
        )
        self.waiting_bytes = gauge("waiting_bytes", "Bytes of uploads that are not yet durable.", "livesum")
        self.unfinished_bytes = gauge(
            "unfinished_bytes", "Bytes of uploads that have not arrived completely.", "livesum"
        )
        self.upload_seconds = Histogram(
            "hubbub_upload_seconds",
            "Time from the head of an upload to its acknowledgement.",
            registry=registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._facts, self._facts_until, self._reading_facts = b"", -1.0, threading.Lock()
        self.by_status = [self.reports.labels(status) for status in ("accepted", "duplicate", "invalid")]

    def render(self, store: Store) -> bytes:
        """Return all metrics in the text format of Prometheus: of this process, or of all workers together.

        Gauges of the database and its disk are a second old or more, and left out if these do not respond.
        """
        registry = self._registry
        if METRICS_DIRECTORY in os.environ:  # several workers
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        folded = registry.get_sample_value("hubbub_last_fold_timestamp_seconds") or 0.0
        purged = registry.get_sample_value("hubbub_purge_progress_timestamp_seconds") or 0.0
        return generate_latest(registry) + self._facts_of(store, folded, purged)

    def _facts_of(self, store: Store, folded: float, purged: float) -> bytes:
        """Return the gauges of the store. They take longer with more surveys, so they are read now and then only.

        Only one thread reads them. The others return what is known, however old, so that they do not pile up.
        """
        if time.monotonic() >= self._facts_until and self._reading_facts.acquire(blocking=not self._facts):
            try:
                started = time.monotonic()
                if started >= self._facts_until:
                    registry = CollectorRegistry()
                    registry.register(_Facts(store, folded, purged))
                    self._facts = generate_latest(registry)
                    ended = time.monotonic()
                    self._facts_until = ended + max(FACTS_SECONDS, _FACTS_REST * (ended - started))
            finally:
                self._reading_facts.release()
        return self._facts


class _Facts:
    """Gauges of the store, read when they are collected: they are the same for all processes.

    `folded` is when pending reports were last folded, in seconds since 1970; `purged` when the purge of a survey last
    got on, 0 if there is nothing to purge.
    """

    def __init__(self, store: Store, folded: float, purged: float) -> None:
        self._store, self._folded, self._purged = store, folded, purged

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield reports of each survey, reports that are not folded, stuck purges, damage, and room on the disk."""
        stuck = max(0.0, time.time() - self._purged) if self._purged else 0.0
        yield GaugeMetricFamily(
            "hubbub_purge_age_seconds", "How long ago the purge of a survey that ended last got on.", stuck
        )
        with suppress(HubbubError):
            listed = list_surveys(self._store.engine)
            reports = GaugeMetricFamily("hubbub_survey_reports", "Reports of a survey.", labels=["survey"])
            for survey in listed:
                reports.add_metric([survey.survey_id.hex()[:16]], survey.reports)
            yield reports
            waiting = sum(survey.pending for survey in listed)
            yield GaugeMetricFamily("hubbub_pending_reports", "Reports that are stored but not folded.", waiting)
            age = max(0.0, time.time() - self._folded) if waiting else 0.0
            yield GaugeMetricFamily(
                "hubbub_pending_age_seconds", "The longest that a report may have waited to be folded.", age
            )
            came = uploads_by_survey(self._store.engine)
            above = sum(is_above(came.get(each.key, 0), expected_so_far(each)) for each in listed)
            yield GaugeMetricFamily(
                "hubbub_surveys_above_expected",
                f"Surveys that got {NOTICE_TIMES} times the expected reports or more.",
                above,
            )
            damaged = sum(bool(survey.damage) for survey in listed)
            yield GaugeMetricFamily("hubbub_damaged_surveys", "Surveys that are damaged.", damaged)
        file = database_file(self._store.engine)
        if file is not None:
            with suppress(OSError):
                free = shutil.disk_usage(file.parent).free
                yield GaugeMetricFamily("hubbub_disk_free_bytes", "Room on the disk of the database.", free)
                yield GaugeMetricFamily("hubbub_database_bytes", "Size of the database.", file.stat().st_size)


def forget_dead_workers(directory: str) -> None:
    """Remove the gauges of workers that were killed. Otherwise their waiting bytes would be shown forever."""
    for file in Path(directory).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]
        except PermissionError:  # the process id now belongs to a process of another user
            pass
