"""The search down the tree: a beam from the root, a list inside each promising root, acceptance, subtraction, repeat.

A path is scored by the sum of its estimates over all depths so far, so that every report on one of its prefixes
counts; paths of a text code are ranked by that evidence less the code bits used. Accepted values are subtracted, and
the search repeats on the rest, where collisions with large values no longer hide or fake small ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.accept import accept
from hubbub.mechanisms.tree.beam import Beam, NumberBeam
from hubbub.mechanisms.tree.fit import Fit, refit
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.lists import list_roots
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.text_beam import TextBeam
from hubbub.mechanisms.tree.walk import Walk
from hubbub.model.estimates import Query

_PASSES = 4


def search(
    tree: TreeGeometry, row_counts: RowCounts, query: Query
) -> tuple[NDArray[np.uint64], Fit, NDArray[np.float64]]:
    """Paths of the values that stand out, their fit, and for each the chance that a neighbour is the real value.

    With `best_guess`, if fewer stand out than are asked for, then also the best guesses among the rest, in doubt.
    """
    walk = Walk(tree, row_counts)
    people = int(row_counts.people.sum())
    # No path of a text code leads to "(other)", which many people may hold: it is scored by name.
    hidden = tree.codec.to_paths(tree.survey.domain.outside[np.newaxis][: int(tree.coded)])
    counts = row_counts.parts(tree.buckets(hidden)).sum(axis=1)
    accepted = hidden[counts >= tree.acceptance_counts(hidden, people, query)]
    fit, doubts = refit(tree, row_counts, tree.buckets(accepted)), np.zeros(len(accepted))
    doubt = query.level / 4  # another quarter is for false values due to noise, and half for intervals
    for number in range(_PASSES):
        beam = (TextBeam if tree.coded else NumberBeam)(walk, fit.left, capped=number > 0)
        promising = beam.best_paths()
        if query.best_guess and query.top == 1:  # nothing needs to stand out
            guess = _guess(walk, fit, beam, promising, 1)
            return guess, refit(tree, row_counts, tree.buckets(guess)), np.ones(len(guess))
        near, sizes = beam.near_roots(promising, query)
        fresh, theirs = accept(tree, fit.left, *list_roots(walk, fit.left, near, sizes), query, doubt)
        doubt -= float(theirs.sum())
        known = {path.tobytes() for path in accepted}
        new = np.array([path.tobytes() not in known for path in fresh], bool)
        few = 8 * np.count_nonzero(new) <= len(accepted)
        accepted, doubts = np.concatenate([accepted, fresh[new]]), np.concatenate([doubts, theirs[new]])
        fit = refit(tree, row_counts, tree.buckets(accepted))
        # A value that rested on collisions with another may now be too small: remove such values. One at a time, the
        # worst first, since of two that share most rows each may look too small beside the other.
        while len(accepted):
            lead = fit.with_shared - tree.acceptance_counts(accepted, people, query)
            worst = int(np.argmin(lead))
            if lead[worst] >= 0:
                break
            accepted, doubts = np.delete(accepted, worst, axis=0), np.delete(doubts, worst)
            fit = refit(tree, row_counts, np.delete(fit.buckets, worst, axis=0))
        if few:  # too few new values for another pass to find more
            break
    if query.best_guess and len(accepted) < query.top:
        beam = (TextBeam if tree.coded else NumberBeam)(walk, fit.left, capped=True)
        guess = _guess(walk, fit, beam, beam.best_paths(), query.top - len(accepted))
        known = {path.tobytes() for path in accepted}
        guess = guess[[path.tobytes() not in known for path in guess]]
        accepted, doubts = np.concatenate([accepted, guess]), np.concatenate([doubts, np.ones(len(guess))])
        fit = refit(tree, row_counts, tree.buckets(accepted))
    return accepted, fit, doubts


def _guess(walk: Walk, fit: Fit, beam: Beam, front: Front, most: int) -> NDArray[np.uint64]:
    """The best value under each of the best roots, whether it stands out or not."""
    codec = walk.tree.codec
    # A list of texts may hold none that ends.
    roots, sizes = beam.best_roots(front, 4 * most if walk.tree.coded else most)
    best, _ = list_roots(walk, fit.left, roots, sizes, every=True)
    whole = np.flatnonzero(codec.completed(best.paths, codec.bits)[1])
    _, first = np.unique(whole * len(roots) // max(len(best.paths), 1), return_index=True)  # each list is as long
    return best.paths[whole[first[:most]]]
