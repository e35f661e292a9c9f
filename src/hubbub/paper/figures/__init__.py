"""The figures of `hubbub paper`, drawn with matplotlib from their numbers alone.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; no series differs in colour
alone. Figures do not use pyplot, so no global state changes and no display is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from hubbub.paper.figures.crowds import bucket_success, proved_search, smallest_crowd
from hubbub.paper.figures.errors import error_against_people, error_against_universe
from hubbub.paper.figures.separation import separation
from hubbub.paper.study import Measured

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "hubbub",  # the same numbers give the same file
    "svg.fonttype": "path",
    "figure.dpi": 100,
}

_FIGURES: Final[dict[str, Callable[[Measured[Any, Any]], Figure]]] = {
    "separation": separation,
    "error-against-people": error_against_people,
    "error-against-universe": error_against_universe,
    "smallest-crowd": smallest_crowd,
    "bucket-success": bucket_success,
    "proved-search": proved_search,
}


def save_figure(measured: Measured[Any, Any], folder: Path) -> list[str]:
    """Draw a figure from its numbers into NAME.png and NAME.svg; return the names of the files."""
    with mpl.rc_context(_STYLE):
        figure = _FIGURES[measured.figure](measured)
        names = [f"{measured.figure}.{kind}" for kind in ("png", "svg")]
        figure.savefig(folder / names[0], dpi=130, metadata={"Software": None})
        figure.savefig(folder / names[1], metadata={"Date": None})
    return names
