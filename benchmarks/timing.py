"""How the benchmarks take time. The standard library alone: the peers' own environments use it, too."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(repeat: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the best of some repetitions, after one that compiles."""
    repeat()
    spent = []
    for _ in range(times):
        start = time.process_time()
        repeat()
        spent.append(time.process_time() - start)
    return min(spent)
