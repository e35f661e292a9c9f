"""The theorems about the clean tree mechanism as numbers: docs/theory-of-tree.md states and proves them.

The clean mechanism is `tree` without buckets: masks act on the bits of a prefix. Here are the parts of the theory that
are formulas: the channel, the closed form (Theorem C), the error of a comparison (D), the converse (Theorem E) and the
exhaustive limit. `path_bound` has Theorem D, which takes draws.

    page     here                  meaning
    E, q     channel.symbols       e^ε; the number of symbols, 2^s
    p        channel.held          the chance that a report matches the value of its sender
    a        channel.per_match     people that a match counts for
    v₀, v₁   noise, own_noise      the variance that a report adds, if its sender does not hold the value or does
    sd       stderr(people)        √(n·v₀)
    h, H̄     people / heavy, heavy a value with h holders is heavy; there are at most H̄ = n/h
    d₁       root_bits             bits of a root
    L, B     listed, beam          paths kept of each root, and in all
    β        beta                  the chance of failure
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_quantile_log

_LN2 = math.log(2)
_MOST_MASKS = 8
_BETA = 0.1  # Theorem C is proved for failures up to this


@dataclass(frozen=True)
class Channel:
    """Randomised response to s = `masks` random parities, at this ε."""

    epsilon: float
    masks: int

    @classmethod
    def best(cls, epsilon: float) -> Channel:
        """The channel with the least noise."""
        return min((cls(epsilon, masks) for masks in range(1, _MOST_MASKS + 1)), key=lambda channel: channel.noise)

    @property
    def symbols(self) -> int:
        """The number of symbols: q."""
        return 1 << self.masks

    @property
    def held(self) -> float:
        """The chance of a match with the value of the sender: p = E/(E + q − 1)."""
        grown = math.exp(self.epsilon)
        return grown / (grown + self.symbols - 1)

    @property
    def absent(self) -> float:
        """The chance of a match with any other value: 1/q."""
        return 1 / self.symbols

    @property
    def per_match(self) -> float:
        """People that a match counts for: a = 1/(p − 1/q)."""
        return 1 / (self.held - self.absent)

    @property
    def noise(self) -> float:
        """The variance of one report's part in the count of a value that its sender does not hold: v₀."""
        return self.per_match**2 * self.absent * (1 - self.absent)

    @property
    def own_noise(self) -> float:
        """The same for the value of the sender: v₁."""
        return self.per_match**2 * self.held * (1 - self.held)

    def stderr(self, people: int) -> float:
        """The standard error of the count of a value that nobody holds, in people: sd."""
        return math.sqrt(people * self.noise)


def best_stderr(people: int, epsilon: float) -> float:
    """The standard error of the best frequency oracle, in people: sd⋆ = √n·2e^(ε/2)/(e^ε − 1)."""
    return math.sqrt(people) * 2 * math.exp(epsilon / 2) / math.expm1(epsilon)


def exhaustive_limit(people: int, epsilon: float, bits: int, beta: float) -> float:
    """The count that a search through all 2^bits values finds: (Q⁻¹(β/N) + Q⁻¹(β))·sd⋆, by the normal law."""
    found = normal_quantile_log(math.log(beta) - bits * _LN2) + normal_quantile_log(math.log(beta))
    return found * best_stderr(people, epsilon)


def converse(people: int, epsilon: float, bits: int, beta: float) -> float:
    """Theorem E: no ε-local mechanism of one round is (α, β)-accurate for an α below this, in people.

    The largest bound over a few values of the slack χ, which the theorem leaves open.
    """
    return max(_converse(people, epsilon, bits, beta, slack) for slack in (0.0005, 0.001, 0.002, 0.005, 0.01))


def _converse(people: int, epsilon: float, bits: int, beta: float, slack: float) -> float:
    nats = bits * _LN2
    information = (1 - beta - 2 * slack) * nats - _LN2
    if information <= 0:
        return 0.0
    crowd = 0  # k₀: with a chance of 1 − χ nobody else's value is held by more
    while nats + (crowd + 1) * (math.log(people) - nats) - math.lgamma(crowd + 2) > math.log(slack):
        crowd += 1
    # The largest share θ with (nθ)²/(2 sd⋆²(1 − θ)) = information, by the quadratic formula.
    curvature = people**2 / (2 * best_stderr(people, epsilon) ** 2)
    share = (math.sqrt(information**2 + 4 * curvature * information) - information) / (2 * curvature)
    held = people * share
    return max(held - math.sqrt(2 * held * math.log(1 / slack)) - crowd, 0.0)


def light_exponent(
    tilt: float, people: float, least: float, depths: list[int], shares: list[float], bits: int, heavy: float
) -> float:
    """The logarithm of the light factor F of Lemma 2, for the rows of a window.

    Parameters
    ----------
    tilt : float
        ρ: one more person who shares a prefix multiplies a tail by at most 1 + ρ.
    people, least : float
        The people who may share, and h: each of their values has fewer holders.
    depths, shares : list
        Depth and share of people of each row of the window.
    """
    total, above = 0.0, 0.0
    for depth, share in zip(depths, shares, strict=True):
        below = above + share
        total += 2.0**-depth * (math.exp(tilt * least * below) - math.exp(tilt * least * above))
        above = below
    return people / least * (1 + 2 * heavy * 2.0**-bits) * total


def comparison_error(channel: Channel, people: int, heavy: float, beta: float) -> float:
    """D: with a chance of 1 − β/10 no heavy value with D fewer holders than the heavy hitter has a larger count.

    It holds where the light factor is at most e for a tilt of `comparison_tilt`. Costs a bisection for each of the
    log₂ H̄ sizes that a rival may have.
    """
    noise, extra = channel.noise, max(channel.own_noise - channel.noise, 0.0)
    worst = 0.0
    for size in range(1, max(1, int(math.log2(heavy))) + 1):
        nats = _comparison_nats(size, beta)

        def is_enough(gap: float, size: int = size, nats: float = nats) -> bool:
            holders = min(people, 2.0 ** (1 - size) * people + gap)
            spread = math.sqrt(2 * (2 * people * noise + holders * extra) * nats)
            return gap >= spread + (channel.per_match + 1) * nats / 3

        worst = max(worst, bisect(is_enough, 0.0, 1e6 * people, 100)[1])
    return worst


def comparison_tilt(channel: Channel, people: int, heavy: float, beta: float) -> float:
    """An upper bound on ρ in the proof of `comparison_error`."""
    nats = _comparison_nats(max(1, int(math.log2(heavy))), beta)
    return math.expm1(channel.per_match * math.sqrt(nats / (people * channel.noise))) / channel.per_match


def _comparison_nats(size: int, beta: float) -> float:
    """x_k for rivals held by n·2^−k people or fewer, and by more than half as many."""
    return 1 + math.log(10 * 2.0 ** (size + 1) * size * (size + 1) / beta)


@dataclass(frozen=True)
class ClosedForm:
    """The parameters of Theorem C, and its α: the heavy hitter is missed by more than α with a chance of at most β.

    `standard_errors` is z_T, `log2_listed` and `log2_beam` are of L and B, and `shares` belong to the `depths`.
    """

    alpha: float
    threshold: int
    comparison: float
    standard_errors: float
    margin: float
    heavy: float
    log2_listed: float
    log2_beam: float
    depths: list[int]
    shares: list[float]


def closed_form(
    people: int, epsilon: float, bits: int, beta: float = 0.05, slack: float = 0.2, step: int = 4
) -> ClosedForm:
    """Theorem C with δ = `slack` and the least root that it allows.

    Raises ParameterError where a hypothesis of the theorem fails; it names the hypothesis.
    """
    if not 0 < beta <= _BETA:
        raise ParameterError(f"beta must be above 0 and at most {_BETA}, got beta={beta}")
    if not 0 < slack <= 1:
        raise ParameterError(f"slack must be above 0 and at most 1, got slack={slack}")
    channel = Channel.best(epsilon)
    for root in range(1, bits):
        form = _closed_form(channel, people, bits, beta, slack, [*range(root, bits, step), bits])
        if 2.0**root >= form.heavy**2 / (0.4 * beta):
            break
    else:
        raise ParameterError(f"the universe must be larger than the table of roots, got bits={bits}")
    if form.heavy < 1:
        raise ParameterError(f"people must be more for so small an epsilon, got people={people}")
    squared = form.standard_errors**2
    least = 100 * squared * channel.symbols**2 / (channel.symbols - 1)
    if people < least:
        raise ParameterError(f"people must be at least {math.ceil(least):,}, got people={people}")
    if math.log(2 * form.heavy) - bits * _LN2 + 0.11 * squared / (1 + slack) ** 2 > 0:
        raise ParameterError(f"bits must be more for so few people and this slack, got bits={bits}")
    return form


def _closed_form(channel: Channel, people: int, bits: int, beta: float, slack: float, depths: list[int]) -> ClosedForm:
    rows, sd = len(depths), channel.stderr(people)
    windows = rows * (rows + 1) / 2
    margin = 2 * math.log(4 * windows / beta)  # m²
    grown = (1 + slack) ** 2
    reserve = grown * 2 * math.log(10 * math.e * rows / beta) + (1 + 1 / (2 * slack)) * margin
    squared = grown * 2 * bits * _LN2 + reserve
    z = math.sqrt(squared)
    # T ≥ z·√(n·v₀ + T·k) + c from the larger root of a quadratic equation on.
    constant, slope = channel.per_match * squared / 6, squared * max(channel.own_noise + 1 - channel.noise, 0.0)
    half = constant + slope / 2
    threshold = math.ceil(half + math.sqrt(half**2 - constant**2 + squared * people * channel.noise))
    heavy = people / (z * sd / (10 * grown))
    cumulative = [(1 - reserve / squared) * (depth - math.log2(heavy)) / bits for depth in depths[:-1]] + [1.0]
    listed = math.log2(16 * math.e * windows / beta) + margin / (4 * slack * _LN2)
    comparison = comparison_error(channel, people, heavy, beta)
    return ClosedForm(
        alpha=max(threshold, comparison),
        threshold=threshold,
        comparison=comparison,
        standard_errors=z,
        margin=math.sqrt(margin),
        heavy=heavy,
        log2_listed=listed,
        log2_beam=1 + listed + math.log2(heavy),
        depths=depths,
        shares=[below - above for above, below in pairwise([0.0, *cumulative])],
    )


@dataclass(frozen=True)
class Lengths:
    """Theorem F: one set of reports for values of different lengths, with z² = (1 + δ)²·2·ln 2·(length + `extra`).

    `cumulative` are the shares W_r of the common rows, from the first to the last, and `heavy` is H̄.
    """

    extra: float
    root_bits: int
    heavy: float
    cumulative: list[float]

    @classmethod
    def of(cls, beta: float, slack: float, root_bits: int, heavy: float, cumulative: list[float]) -> Lengths:
        """With the c₀ that the theorem has for this β and δ."""
        rows, grown = len(cumulative), (1 + slack) ** 2
        reserve = (1 + 1 / (2 * slack)) * 2 * math.log(2 * rows * (rows + 1) / beta)
        extra = (2 * math.log(20 * math.e * rows / beta) + reserve / grown) / (2 * _LN2)
        return cls(extra, root_bits, heavy, cumulative)

    def relative_depths(self, length: int) -> list[int]:
        """The bits that each row asks of a value of this length: d_{l,r}.

        Raises ParameterError where the first row would ask for more than a root, which the theorem does not allow.
        """
        free = [math.floor(math.log2(self.heavy) + (length + self.extra) * share) for share in self.cumulative]
        if free[0] > self.root_bits:
            raise ParameterError(f"the first share must be less for this length, got {self.cumulative[0]}")
        return [min(length, max(self.root_bits, bits)) for bits in free]
