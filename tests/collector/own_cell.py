"""A mechanism for tests of the collector: each client writes a cell of its own, so that any count but one shows.

It keeps nothing private and is in no registry: a store takes it only where a test hands it `build`.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from hubbub import Integers, Survey, mechanism_for
from hubbub.model.mechanism import Mechanism, Reports
from hubbub.model.tally import Cells

NAME = "own-cell"


class OwnCell:
    """The collector's role only; a report is an id and the number of a cell."""

    report_dtype = np.dtype([("id", "<u8", (2,)), ("cell", "<u4")])

    def __init__(self, survey: Survey) -> None:
        self.survey_id, self.cells_shape = survey.survey_id, (survey.parameters["cells"],)

    def validate(self, reports: Reports) -> np.ndarray:
        """The cell is there."""
        return reports["cell"] < self.cells_shape[0]

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add one to each cell."""
        np.add.at(cells, reports["cell"], 1)


def own_cell_survey(cells: int, name: str = "own cells", **more: object) -> Survey:
    """A survey with so many cells."""
    one = Decimal(1)
    return Survey(name, Integers(32), one, Decimal(0), NAME, {}, {"cells": cells}, bytes(32), cells, **more)


def build(survey: Survey) -> Mechanism:
    """The registry, and the mechanism above."""
    return OwnCell(survey) if survey.mechanism == NAME else mechanism_for(survey)  # type: ignore[return-value]


def some_reports(cells: list[int], seed: int = 1) -> Reports:
    """Reports to these cells, with ids of their own."""
    reports = np.zeros(len(cells), OwnCell.report_dtype)
    reports["id"] = np.random.default_rng(seed).integers(0, 2**63, (len(cells), 2), np.uint64)
    reports["cell"] = cells
    return reports
