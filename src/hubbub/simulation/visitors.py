"""The demo's crowd: visitors with a referring site."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

_HEADS = (
    *("search", "news", "mail", "video", "social", "maps", "shop", "forum", "blog", "wiki", "weather", "sport"),
    *("music", "photos", "travel", "games", "recipes", "jobs", "finance", "health", "movies", "books", "cars"),
    *("garden", "science", "history", "radio", "design", "code", "art"),
)
_ENDS = ("example", "example.com", "example.net", "example.org")

SITES = tuple(f"{head}.{end}" for end in _ENDS for head in _HEADS) + tuple(
    f"site{number:04d}.example" for number in range(1, 1001)
)
"""Made-up sites, the most visited first. Names under .example belong to nobody (RFC 2606)."""

_EXPONENT = 1.25
_UNLISTED_SHARE = 0.02


def write_visitors(path: Path, people: int, seed: int | None) -> None:
    """Write one referring site a line, as `draw_visitors` draws them."""
    values = draw_visitors(np.random.default_rng(seed), people)
    path.write_text("\n".join(values) + "\n", encoding="utf-8")


RISING: Final = SITES[7]
"""The site that more and more visitors come from, week by week."""

_GROWS: Final = 0.04  # of all visitors, in a week
_MOST: Final = 0.4


def draw_visitors(rng: np.random.Generator, people: int, week: int = 0) -> list[str]:
    """Return a referring site for each visitor: Zipf over SITES, and a few sites that are on nobody's list.

    In later weeks more of them come from `RISING`.
    """
    weights = np.arange(1, len(SITES) + 1) ** -_EXPONENT
    weights[SITES.index(RISING)] += weights.sum() * (1 / (1 - min(_GROWS * week, _MOST)) - 1)
    chosen = rng.choice(len(SITES), people, p=weights / weights.sum())
    unlisted = rng.random(people) < _UNLISTED_SHARE
    names = np.array([*SITES, ""], dtype=object)
    values = names[np.where(unlisted, len(SITES), chosen)]
    values[unlisted] = [f"private{number:06d}.example" for number in rng.integers(0, 10**6, int(unlisted.sum()))]
    return list(values)
