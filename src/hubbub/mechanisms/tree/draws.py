"""What the rows of a tree say of one value, drawn many times.

A report matches the value with chance `true` if its sender holds it, and with chance `absent` if not. Its holders and
everybody else choose their rows by chance; how many hold it is no chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.plan import ROW_BITS

_DRAWS = 5_000  # of normal laws
_EXACT_DRAWS = 2_000  # of exact ones, which cost ten times as much; they tell the limit of a value to about 1 %
_NORMAL_FROM = 20_000  # people from which the matches of the rows are as good as normal


class RowDraws:
    """Draws of what every row says of a value that nothing hides, among this many people.

    `times` as many draws as usual, if their law is normal.
    """

    def __init__(self, tree: TreeGeometry, people: int, times: int = 1) -> None:
        self._tree, self._people = tree, people
        self.shares = np.diff((0, *tree.plan.ends)) / 2.0**ROW_BITS
        self._rng = np.random.default_rng(_DRAWS)
        self._normal = None
        self.draws = _EXACT_DRAWS
        if people >= _NORMAL_FROM:
            self.draws = times * _DRAWS
            self._normal = self._rng.standard_normal((3, self.draws, tree.rows))
        self._state = self._rng.bit_generator.state

    def counts(self, held: float, draws: int | None = None) -> NDArray[np.float64]:
        """What the rows say of a value that `held` people hold, in people; shape (draws, rows).

        The same draws every time, so that chances rise with the holders. Some ms, 20 ms for the exact law.
        """
        tree, held = self._tree, min(max(held, 0.0), float(self._people))
        draws = self.draws if draws is None else draws
        holders: NDArray[Any]
        others: NDArray[Any]
        matches: NDArray[Any]
        if self._normal is None:
            self._rng.bit_generator.state = self._state
            holders = self._rng.multinomial(round(held), self.shares, draws)
            others = self._rng.multinomial(self._people - round(held), self.shares, draws)
            matches = self._rng.binomial(others, tree.absent) + self._rng.binomial(holders, tree.true)
        else:
            normal = self._normal[:, :draws]
            holders, others = self._spread(held, normal[0]), self._spread(self._people - held, normal[1])
            variance = holders * tree.true * (1 - tree.true) + others * tree.absent * (1 - tree.absent)
            matches = holders * tree.true + others * tree.absent + np.sqrt(variance) * normal[2]
        return np.asarray((matches - (holders + others) * tree.absent) * tree.per_match, np.float64)

    def _spread(self, people: float, normal: NDArray[np.float64]) -> NDArray[np.float64]:
        """`people` people, spread over the rows by chance: the normal law with the moments of the multinomial one."""
        roots = np.sqrt(self.shares)
        chance = normal * roots - np.outer(normal @ roots, self.shares)
        return np.asarray(np.maximum(people * self.shares + np.sqrt(people) * chance, 0.0))
