"""Write the table of docs/theory-of-tree.md: what is proved, beside the exhaustive limit and the converse.

    python tools/theory_table.py --write docs/theory-of-tree.md

Takes about three minutes. `tests/docs/test_theory_page.py` checks the table.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from hubbub.errors import ParameterError
from hubbub.paper import theory_of_tree as theory
from hubbub.paper.path_bound import PathBound
from hubbub.paper.proved_search import clean_search

BETA = 0.05
BITS, EPSILONS, PEOPLE = (32, 64, 256), (0.5, 1.0, 2.0, 4.0), (10**5, 10**6, 10**7)
HEADER = (
    "| N | ε | n | d₁ | rows | sd | T | T/sd | D | **α** | exhaustive | α/exh. | converse | α/conv. | log₂ nB |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


def shape(bits: int, epsilon: float, people: int) -> PathBound | None:
    """The shape of a cell; None if roots would be as long as values."""
    try:
        return clean_search(people, epsilon, bits, BETA)
    except ParameterError:
        return None


def row(bound: PathBound, threshold: int) -> str:
    """One line of the table, given T."""
    people, epsilon, bits = bound.people, bound.epsilon, bound.bits
    sd, comparison = bound.channel.stderr(people), bound.comparison()
    alpha = max(threshold, comparison)
    limits = [function(people, epsilon, bits, BETA) for function in (theory.exhaustive_limit, theory.converse)]
    cells = [
        f"2^{bits}",
        f"{epsilon:g}",
        f"{people:,}",
        f"{bound.root_bits}",
        f"{len(bound.depths)}",
        f"{sd:,.0f}",
        f"{threshold:,}",
        f"{threshold / sd:.2f}",
        f"{comparison:,.0f}",
        f"**{alpha:,.0f}**",
        *(text for limit in limits for text in (f"{limit:,.0f}", f"{alpha / limit:.2f}")),
        f"{math.log2(people * 2 * bound.places):.1f}",
    ]
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """All of it."""
    bounds = [shape(bits, epsilon, people) for bits in BITS for epsilon in EPSILONS for people in PEOPLE]
    return HEADER + "".join(row(bound, bound.threshold()) for bound in bounds if bound is not None)


def main() -> None:
    """Print the table, or put it into a page in the place of the one that is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    made = table()
    if options.write is None:
        print(made)
        return
    page = options.write.read_text(encoding="utf-8")
    first = page.index(HEADER.split("\n")[0])
    end = page.index("\n\n", first) + 1
    options.write.write_text(page[:first] + made + page[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
