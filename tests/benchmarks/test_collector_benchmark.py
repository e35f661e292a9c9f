"""The page of the collector's benchmark: it has what was measured, and how much that varied."""

from __future__ import annotations

from benchmarks.collector import BATCHES, CONNECTIONS, CROWDS, MILLION, Row
from benchmarks.collector_setups import LOADS, SETUPS, Figures

from benchmarks import collector


def test_the_page_has_the_spread_of_single_reports() -> None:
    """The median of all pairs, the smallest and the largest; and the CPU time of both endpoints."""
    rows = [
        Row(endpoint, batch, connections, rate, rate * batch, 1.0, 2.0, cpu)
        for endpoint, rate, cpu in (("reports", 100.0, 90.0), ("nothing", 150.0, 60.0))
        for batch in BATCHES
        for connections in CONNECTIONS
    ]
    page = collector.page(
        {
            "rows": [row._asdict() for row in rows],
            "single_ratios": [1.7, 1.5, 1.61],
            "memory": [(0, 200.0), (MILLION, 210.0)],
            "cpu_us_per_report": 5.0,
            "bytes_per_report": 38.0,
            "setups": {
                "rounds": {
                    name: [
                        [Figures((10.0, 8.0, 9.0)[number % 3] * (place + 1), 1, 20 + place, 3) for number in range(3)]
                        for place in range(len(SETUPS))
                    ]
                    for name in LOADS
                },
                "postgresql_bytes": (60.2, 65.1),
            },
            "many": [{"surveys": 1000, "cells": 257, **Figures(8000.0, 4.0, 21.5, 142.0)._asdict()}],
            "overload": {
                "goodput": {str(number): 90_000.0 for number in CROWDS},
                "refused": 3,
                "peak_mib": 400.0,
                "kept": [0.85, 0.9, 0.95],
            },
            "fsync_ms": 0.2,
            "load_before": 0.1,
            "priority": "",
            "cores": 2,
            "versions": {"hubbub": "0"},
            "python": "3",
        }
    )
    assert "costs 1.61 times as much as one that does nothing" in page
    assert "the median of 3 pairs" in page
    assert "1.50 to 1.70" in page
    assert "90 µs for the one and 60 µs for the other" in page
    assert "## A million reports" in page
    assert "goodput is 90% of the best" in page
    assert "| SQLite, 1 worker | 1 (9/s) | 20 | 1 (9/s) | 20 |" in page
    assert "| PostgreSQL, 1 worker | 3.00 (3.00 to 3.00) | 22 | 3.00 (3.00 to 3.00) | 22 |" in page
    assert "a report takes 125 bytes" in page
    assert "| 1,000 | 257 | 8,000 | 142 | 4.0 | 21.5 |" in page
