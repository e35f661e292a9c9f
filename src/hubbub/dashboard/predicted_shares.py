"""The smallest share that is found with a survey's reports, as the planner predicts it; cached."""

from __future__ import annotations

import math
from typing import Final

from hubbub.analysis.outlook import smallest_share
from hubbub.mechanisms.survey_mechanism import SurveyMechanism

_MOST_KEPT: Final = 1_000


class PredictedShares:
    """Predicted shares, each computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], float | None] = {}

    def find(self, mechanism: SurveyMechanism, people: int) -> float | None:
        """Return the smallest share found with this many reports; None if none can be. Takes up to 0.1 s."""
        rounded = _round(people)
        key = (mechanism.survey_id, rounded)
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            least = smallest_share(mechanism, rounded) if rounded else math.inf
            self._known[key] = least if math.isfinite(least) else None
        return self._known[key]


def _round(people: int) -> int:
    """Return the number rounded down to two digits: limits are no more exact than that, and are cached."""
    unit: int = 10 ** max(0, len(str(people)) - 2)
    return people // unit * unit
