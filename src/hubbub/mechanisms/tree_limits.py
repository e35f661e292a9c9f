"""How many people must hold a value for the search to find it: the way down the tree, drawn many times.

A value is found if all of its evidence passes the threshold of its prior, if what is known of it at every depth keeps
it in the beam, and if what comes after every depth tells it from the other ways to go on. Each row's matches are
binomial, so the way is drawn exactly; what other values do to it (clutter in the beam, shared buckets) is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree_plan import beam_widths
from hubbub.model.estimates import Query
from hubbub.numeric.text_paths import fingerprint_before

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree

_DRAWS = 2_000
_FOUND = 0.95
_LN2 = math.log(2)


def found_from(tree: Tree, people: NDArray[np.float64], length: int, query: Query) -> float:
    """The number of holders with which a value of so many code bits is found with a chance of 95 %.

    `people` are the reporters of each row. Infinite if not even everybody is enough. About 50 ms.
    """
    total = int(people.sum())
    if found_chance(tree, people, length, total, query) < _FOUND:
        return math.inf
    low, high = 0.0, float(total)
    while high - low > max(0.5, 0.003 * high):
        middle = (low + high) / 2
        enough = found_chance(tree, people, length, middle, query) >= _FOUND
        low, high = (low, middle) if enough else (middle, high)
    return high


def found_chance(tree: Tree, people: NDArray[np.float64], length: int, held: float, query: Query) -> float:
    """The chance that the search finds a value of so many code bits that `held` people hold."""
    rng = np.random.default_rng(_DRAWS)  # the same draws every time, so that the chance rises with the holders
    total = float(people.sum())
    share = held / max(total, 1.0)
    sizes = people.astype(np.int64)
    matches = rng.binomial(sizes, tree.absent + share * (tree.true - tree.absent), (_DRAWS, len(sizes)))
    counts = (tree.symbols * matches - sizes) * tree.gain
    level = math.log(query.level / 4)
    found = counts.sum(axis=1) >= tree.count_threshold(int(total), level - _LN2 * length)
    depths = np.array(tree.plan.depths)
    steps = sorted(set(tree.plan.depths))
    chunks = [tree.plan.chunks[tree.plan.depths.index(depth)] for depth in steps]
    widths = beam_widths(tree.beam, chunks, tree.code is not None)
    for depth, width in zip(steps[:-1], widths[:-1], strict=True):
        known = depth - fingerprint_before(tree.fingerprint, depth)
        if known >= length:
            break
        above = depths <= depth
        # Inside the beam, among all paths of that depth (the roots are all in it) …
        if depth > tree.plan.depths[0]:
            edge = tree.count_threshold(int(people[above].sum()), min(math.log(width) - _LN2 * depth, -_LN2))
            found &= counts[:, above].sum(axis=1) >= edge
        # … and told from the other ways to go on, less those whose fingerprint is another one.
        ways = max(length - known - fingerprint_before(tree.fingerprint, depth), 0)
        edge = tree.count_threshold(int(people[~above].sum()), level - _LN2 * ways)
        found &= counts[:, ~above].sum(axis=1) >= edge
    return float(found.mean())
