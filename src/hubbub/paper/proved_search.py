"""What is proved about the search of `tree`, for one survey and over people: Figure 6.

The proof is about a clean version of the search, without hashed buckets: docs/theory-of-tree.md. Nothing is proved
about the search that runs; what that finds is measured, docs/limits.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from hubbub.analysis.outlook import smallest_share
from hubbub.errors import ParameterError
from hubbub.mechanisms.tree.shape import ONE_ROW_BITS
from hubbub.model.coded_domain import CodedText
from hubbub.model.survey import Survey
from hubbub.paper import theory_of_tree as theory
from hubbub.paper.path_bound import PathBound
from hubbub.paper.study import BETA, EPSILON, TREE, Cell, Study, decades

BITS = 64
MOST_BITS = 256  # of which a bound takes about 6 s; the time grows with the third power
_BETAS = (0.01, 0.5)  # a smaller chance of failure would take more draws than `PathBound.threshold` makes


@dataclass(frozen=True)
class ProvedSearch:
    """What is proved for a crowd of this size, in people.

    Attributes
    ----------
    people, epsilon, bits, beta
        The crowd, the privacy loss of each, log₂ of the number of values, and the chance of failure.
    alpha : int
        Theorem D: the clean search answers with a value that at most so many people fewer hold than the most common
        one, in every crowd, except with chance beta.
    exhaustive : int
        The count that a search through all values finds, by the normal law.
    converse : int
        Theorem E: no mechanism of one round can promise less.
    root_bits : int
        The bits of a root of the clean search.
    """

    people: int
    epsilon: float
    bits: int
    beta: float
    alpha: int
    exhaustive: int
    converse: int
    root_bits: int

    @property
    def words(self) -> tuple[str, ...]:
        """What is proved and of what, what nobody can beat, and that the search that runs is measured."""
        return (
            "Proved of the same search without hashed buckets, in its clean form (Theorem D of docs/theory-of-tree.md, "
            f"roots of {self.root_bits} bits): in every crowd of {self.people:,} people, with a chance of at least "
            f"{1 - self.beta:.4g}, its answer has at most {self.alpha:,} holders fewer than the most common value.",
            f"A search that scores all 2^{self.bits} values finds one with {self.exhaustive:,} holders (by the normal "
            f"law), and no mechanism of one round with this ε can promise less than {self.converse:,} (Theorem E).",
            "The search that runs has hashed buckets: what it finds is measured, not proved (docs/limits.md).",
        )


def clean_search(people: int, epsilon: float, bits: int, beta: float) -> PathBound:
    """The clean search for these sizes: steps of 4 bits, and of 8 from 128 bits on."""
    return PathBound(people, epsilon, bits, beta, step=4 if bits < 128 else 8)


def guarantee_of_search(survey: Survey, people: int, beta: float = BETA) -> ProvedSearch:
    """What is proved of the clean version of a survey's search; takes a second, and 6 s for 256 bits.

    Raises ParameterError where there is no search, or nothing is proved of it; the message says why.
    """
    domain, epsilon = survey.domain, float(survey.epsilon)
    if survey.mechanism != "tree":
        raise ParameterError(f"the mechanism must be tree for its theorems to apply, got {survey.mechanism!r}")
    if isinstance(domain, CodedText):
        raise ParameterError("values must be numbers: the theorem about texts (F) is not computed here, got texts")
    if domain.is_list or domain.bits <= ONE_ROW_BITS:
        raise ParameterError(
            f"there must be a search: a list, or values of up to {ONE_ROW_BITS} bits, are counted one by one, "
            f"got {domain.bits} bits"
        )
    if domain.bits > MOST_BITS:
        raise ParameterError(
            f"values must have at most {MOST_BITS} bits for a bound in seconds, got {domain.bits} bits"
        )
    if not _BETAS[0] <= beta <= _BETAS[1]:
        raise ParameterError(f"the chance of failure must be {_BETAS[0]} to {_BETAS[1]} for a bound, got {beta:g}")
    bound = clean_search(people, epsilon, domain.bits, beta)
    limits = [limit(people, epsilon, domain.bits, beta) for limit in (theory.exhaustive_limit, theory.converse)]
    alpha = math.ceil(max(bound.threshold(), bound.comparison()))
    if alpha >= people:
        raise ParameterError(f"people must be more for a bound to exist, got people={people}")
    return ProvedSearch(
        people, epsilon, domain.bits, beta, alpha, math.ceil(limits[0]), math.floor(limits[1]), bound.root_bits
    )


# The figure.


@dataclass(frozen=True)
class Limits:
    """What is proved, and `stated`: the count that tree states to find with 95 % if no other value hides it."""

    people: int
    alpha: int
    exhaustive: int
    converse: int
    stated: float


@dataclass(frozen=True)
class Setting:
    """The constants of the figure."""

    epsilon: float = EPSILON
    beta: float = BETA
    bits: int = BITS


def limits_at(people: int, rng: np.random.Generator) -> Limits:
    """All limits for one crowd. Nothing is measured: the bound makes its own draws, the same each time."""
    (tree,) = islice(TREE.mechanisms(people, BITS, rng), 1)
    proved = guarantee_of_search(tree.survey, people)
    return Limits(people, proved.alpha, proved.exhaustive, proved.converse, people * smallest_share(tree, people))


def _cells(quick: bool) -> list[Cell[Limits]]:
    """Crowds of ten thousand to a billion."""
    return [Cell(f"{people} people", partial(limits_at, people)) for people in decades(4, 9, 1 if quick else 2)]


PROVED_SEARCH: Study[Setting, Limits] = Study("proved-search", _cells, Setting)
