"""The lemmas of docs/theory-of-tree.md by enumeration, and its formulas, each with a wrong version that is noticed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.errors import ParameterError
from hubbub.paper import theory_of_tree as theory
from hubbub.paper.path_bound import PathBound, hazard, largest_mean, log_tail

GROWN = Fraction(3)  # e^ε as a fraction, so that enumerations are exact


def parities(masks: Iterable[int], vector: int) -> int:
    """The symbol of a vector."""
    return sum(((mask & vector).bit_count() & 1) << place for place, mask in enumerate(masks))


# Theorem A, the moments and Lemma 1: one report.


def report_law(masks: tuple[int, ...], prefix: int, grown: Fraction = GROWN) -> list[Fraction]:
    """The chance of each symbol."""
    symbols, true = 1 << len(masks), parities(masks, prefix)
    return [(grown if symbol == true else 1) / (grown + symbols - 1) for symbol in range(symbols)]


def test_a_report_is_private() -> None:
    """For the same masks two prefixes differ by e^ε, and by no more; with another e^ε the check would fail."""

    def worst(grown: Fraction) -> Fraction:
        laws = [
            report_law(masks, prefix, grown) for masks in itertools.product(range(8), repeat=2) for prefix in (3, 5)
        ]
        return max(p / q for one, two in zip(laws[::2], laws[1::2], strict=True) for p, q in zip(one, two, strict=True))

    assert worst(GROWN) == GROWN
    assert worst(GROWN + 1) > GROWN


def joint_matches(
    own: int, first: int, second: int, all_masks: list[tuple[int, ...]]
) -> tuple[Fraction, Fraction, Fraction]:
    """The chances that a report matches the first prefix, the second, and both."""
    one = two = both = Fraction(0)
    for masks in all_masks:
        law = report_law(masks, own)
        symbols = parities(masks, first), parities(masks, second)
        one += law[symbols[0]] / len(all_masks)
        two += law[symbols[1]] / len(all_masks)
        both += (law[symbols[0]] if symbols[0] == symbols[1] else 0) / Fraction(len(all_masks))
    return one, two, both


@pytest.mark.parametrize(("masks", "depth"), [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2)])
def test_matches_of_two_prefixes_are_independent(masks: int, depth: int) -> None:
    """Lemma 1 for all triples of prefixes, in fractions: p if held, 1/q if not, and independent in pairs."""
    symbols = 1 << masks
    held = GROWN / (GROWN + symbols - 1)
    uniform = list(itertools.product(range(1 << depth), repeat=masks))
    for own, first, second in itertools.product(range(1 << depth), repeat=3):
        if first != second:
            one, two, both = joint_matches(own, first, second, uniform)
            assert one == (held if first == own else Fraction(1, symbols))
            assert two == (held if second == own else Fraction(1, symbols))
            assert both == one * two


def test_masks_that_are_not_uniform_are_noticed() -> None:
    """The same mask twice makes matches too frequent, and masks without the zero vector make them dependent."""
    twice = [(mask, mask) for mask in range(8)]
    assert joint_matches(0, 1, 2, twice)[0] != Fraction(1, 4)
    no_zero = list(itertools.product(range(1, 8), repeat=2))
    one, two, both = joint_matches(0, 1, 2, no_zero)
    assert both != one * two


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_moments_of_a_report(epsilon: float) -> None:
    """Means 0 and 1, the variances of the page, and no more noise than the best power of two allows."""
    channel = theory.Channel.best(epsilon)
    grown, q = math.exp(epsilon), channel.symbols
    assert channel.noise == pytest.approx((grown + q - 1) ** 2 / ((q - 1) * (grown - 1) ** 2), rel=1e-12)
    assert channel.own_noise == pytest.approx(q**2 * grown / ((q - 1) * (grown - 1) ** 2), rel=1e-12)
    assert channel.per_match * (channel.held - channel.absent) == pytest.approx(1, rel=1e-12)
    assert channel.per_match >= q / (q - 1)  # used in Lemma 3
    best = theory.best_stderr(1, epsilon) ** 2
    assert best <= channel.noise <= {0.5: 1.065, 1.0: 1.003, 2.0: 1.002, 4.0: 1.006}[epsilon] * best
    worse = theory.Channel(epsilon, channel.masks + 1)
    assert worse.noise > channel.noise


# Lemma 2: light values. Three values, held by 2, 1 and 1 people, in a universe of eight; u is the path 000.

LIGHT, BITS, DEPTHS = (2, 1, 1), 3, (1, 2, 3)


def shared_bits(path: int) -> int:
    """How many leading bits a path shares with 000."""
    return BITS - path.bit_length()


def tilts(channel: theory.Channel, strength: float) -> tuple[float, float]:
    """The moment generating functions of a report's part, not held and held."""
    a, q = channel.per_match, channel.symbols
    shift = math.exp(-strength * a / q)
    return tuple(shift * (1 + chance * math.expm1(strength * a)) for chance in (1 / q, channel.held))  # type: ignore[return-value]


def moment_ratio(strength: float, shares: tuple[float, ...], first: int, last: int) -> float:
    """By what the light values multiply E[exp(λ·S_J(u))], averaged over all their positions."""
    absent, held = tilts(theory.Channel.best(1.0), strength)
    window = sum(shares[first:last])
    base = 1 - window + window * absent
    total = 0.0
    for places in itertools.permutations(range(1 << BITS), len(LIGHT)):
        product = 1.0
        for people, place in zip(LIGHT, places, strict=True):
            below = sum(share for share, depth in zip(shares[first:last], DEPTHS[first:last], strict=True)
                        if depth <= shared_bits(place))  # fmt: skip
            product *= (1 + below * (held - absent) / base) ** people
        total += product
    return total / math.perm(1 << BITS, len(LIGHT))


def moment_bound(strength: float, shares: tuple[float, ...], first: int, last: int, printed: bool = False) -> float:
    """The light factor of Lemma 2(a); the `printed` ρ forgets that a report may be of another row."""
    absent, held = tilts(theory.Channel.best(1.0), strength)
    window = sum(shares[first:last])
    base = absent if printed else 1 - window + window * absent
    rows = list(DEPTHS[first:last]), list(shares[first:last])
    return math.exp(theory.light_exponent((held - absent) / base, sum(LIGHT), max(LIGHT), *rows, BITS, 0.0))


def test_light_values_multiply_a_moment_by_at_most_f() -> None:
    """Lemma 2(a) over all positions; with the naive ρ = e^(ψ₁−ψ₀) − 1 it is false."""
    cases = [
        (strength, shares, first, last)
        for strength in (0.1, 0.3, 0.5, 1.0)
        for shares in ((0.3, 0.3, 0.4), (0.1, 0.1, 0.8), (0.6, 0.2, 0.2))
        for first in range(3)
        for last in range(first + 1, 4)
    ]
    assert all(moment_ratio(*case) <= moment_bound(*case) * (1 + 1e-12) for case in cases)
    assert any(moment_ratio(*case) > moment_bound(*case, printed=True) for case in cases)
    assert moment_ratio(0.5, (0.3, 0.3, 0.4), 0, 1) == pytest.approx(1.6357, abs=1e-4)
    assert moment_bound(0.5, (0.3, 0.3, 0.4), 0, 1, printed=True) == pytest.approx(1.5501, abs=1e-4)


def match_tail(sharers: int, others: int, held: Fraction, absent: Fraction, least: int) -> Fraction:
    """The exact chance of at least so many matches among sharers and others."""

    def point(k: int, n: int, chance: Fraction) -> Fraction:
        return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)

    return sum(
        (
            point(i, sharers, held) * point(j, others, absent)
            for i in range(sharers + 1)
            for j in range(others + 1)
            if i + j >= least
        ),
        Fraction(0),
    )


def exact_tilt(reports: int, least: int, held: Fraction, absent: Fraction) -> Fraction:
    """ρ_k of Lemma 2(b)."""
    point = match_tail(0, reports - 1, held, absent, least - 1) - match_tail(0, reports - 1, held, absent, least)
    tail = match_tail(0, reports - 1, held, absent, least)
    if tail == 0:
        return held / absent - 1
    return (1 + held * point / tail) / (1 + absent * point / tail) - 1


def test_each_sharer_multiplies_a_tail_by_at_most_one_plus_rho() -> None:
    """Lemma 2(b), the step from c to c + 1 sharers, in fractions; with half the ρ it is false."""
    held, absent, halved = Fraction(1, 2), Fraction(1, 4), 0
    for reports, sharers in itertools.product((4, 9, 20), (1, 2, 4)):
        for least in range(1, reports + 1):
            tilt = exact_tilt(reports, least, held, absent)
            tail = match_tail(sharers, reports - sharers, held, absent, least)
            none = match_tail(0, reports, held, absent, least)
            assert tail <= none * (1 + tilt) ** sharers
            halved += tail > none * (1 + tilt / 2) ** sharers
    assert halved > 10


def arranged_tail(rows: tuple[int, ...], first: int, last: int, least: int) -> Fraction:
    """The chance that u has so many matches in a window, over all positions and all arrangements of people in rows."""
    held, absent = Fraction(1, 2), Fraction(1, 4)
    owners = [value for value, people in enumerate(LIGHT) for _ in range(people)]
    arrangements = sorted(set(itertools.permutations(rows)))
    reports = sum(first <= row < last for row in rows)
    chances: dict[int, int] = {}
    for places in itertools.permutations(range(1 << BITS), len(LIGHT)):
        for arrangement in arrangements:
            sharers = sum(
                first <= row < last and DEPTHS[row] <= shared_bits(places[owner])
                for owner, row in zip(owners, arrangement, strict=True)
            )
            chances[sharers] = chances.get(sharers, 0) + 1
    total = sum(chances.values())
    return sum(
        (
            Fraction(count, total) * match_tail(sharers, reports - sharers, held, absent, least)
            for sharers, count in chances.items()
        ),
        Fraction(0),
    )


def test_light_values_multiply_a_tail_by_at_most_f() -> None:
    """Lemma 2(b) as a whole, over all positions and arrangements; with a quarter of the exponent it is false."""
    held, absent, broken = Fraction(1, 2), Fraction(1, 4), 0
    for rows in ((0, 1, 2, 2), (0, 0, 1, 2), (1, 2, 2, 2)):
        for first, last in ((0, 1), (0, 3), (1, 3)):
            reports = sum(first <= row < last for row in rows)
            shares = [rows.count(row) / len(rows) for row in range(first, last)]
            for least in range(1, reports + 1):
                tilt = float(exact_tilt(reports, least, held, absent))
                log = theory.light_exponent(tilt, sum(LIGHT), max(LIGHT), list(DEPTHS[first:last]), shares, BITS, 0.0)
                tail, none = arranged_tail(rows, first, last, least), match_tail(0, reports, held, absent, least)
                assert float(tail / none) <= math.exp(log) * (1 + 1e-12)
                broken += float(tail / none) > math.exp(log / 4)
    assert broken > 3


# Lemma 3: tails.


@pytest.mark.parametrize(("reports", "chance"), [(50, 0.25), (400, 1 / 8), (3000, 1 / 64), (2000, 0.5)])
def test_bounds_of_binomial_tails(reports: int, chance: float) -> None:
    """Zubkov and Serov's bound and ours of the hazard are above the exact ones and near; one match off they are not."""
    matches = np.arange(
        math.ceil(reports * chance) + 2, min(reports - 2, int(reports * chance) + 200), dtype=np.float64
    )
    exact = stats.binom.sf(matches - 1, reports, chance)
    matches, exact = matches[exact > 1e-280], exact[exact > 1e-280]
    sizes = np.full(len(matches), float(reports))
    bound = np.exp(log_tail(matches, sizes, chance))
    assert (bound >= exact * (1 - 1e-9)).all()
    assert (np.exp(log_tail(matches + 1, sizes, chance)) < exact).all()
    truth = stats.binom.pmf(matches - 1, reports - 1, chance) / stats.binom.sf(matches - 1, reports - 1, chance)
    eta = hazard(matches, sizes, chance)
    assert (eta >= truth * (1 - 1e-9)).all()
    assert (eta[:6] < 2 * truth[:6]).all()  # and of use, where it counts


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_bernstein_bounds_both_sides(epsilon: float) -> None:
    """Lemma 3(a) for all rows together, against exact binomial sums; without its second term it fails at ε = 4."""
    channel, people, holders = theory.Channel.best(epsilon), 3000, 300
    a, q = channel.per_match, channel.symbols
    extra = max(channel.own_noise + 1 - channel.noise, 0.0)
    absent = stats.binom.pmf(np.arange(people + 1), people, 1 / q)
    own = np.convolve(
        stats.binom.pmf(np.arange(holders + 1), holders, channel.held),
        stats.binom.pmf(np.arange(people - holders + 1), people - holders, 1 / q),
    )
    scores = a * (np.arange(people + 1) - people / q)
    without = False
    for nats in (1.0, 3.0, 8.0, 15.0, 30.0):
        spread = math.sqrt(2 * people * channel.noise * nats)
        assert absent[scores >= spread + a * nats / 3].sum() <= math.exp(-nats)
        without |= absent[scores >= spread].sum() > math.exp(-nats)
        low = holders - math.sqrt(2 * (people * channel.noise + holders * extra) * nats) - a * nats / 3
        assert own[scores <= low].sum() <= math.exp(-nats)
    assert without == (epsilon == 4.0)


# Theorem C.


def worst_window(form: theory.ClosedForm, bits: int, beta: float, slack: float, z: float) -> float:
    """By how much the tightest window meets (∗), in standard errors; negative if it does not."""
    rows, margin = len(form.depths), form.margin
    cumulative, depths = [0.0, *np.cumsum(form.shares)], [math.log2(form.heavy), *form.depths]
    free = margin**2 / (4 * slack)
    worst = math.inf
    for first, last in itertools.combinations(range(rows + 1), 2):
        if last < rows:
            nats = (depths[last] - depths[first]) * math.log(2) - free
        elif first:
            nats = math.log(10 * math.e * rows * form.heavy / beta) + (bits - depths[first]) * math.log(2)
        else:
            nats = math.log(10 * math.e / beta) + bits * math.log(2)
        if nats > 0:
            worst = min(worst, math.sqrt(cumulative[last] - cumulative[first]) * z - math.sqrt(2 * nats) - margin)
    return worst


@pytest.mark.parametrize(
    ("bits", "slack", "step"), [(48, 0.5, 4), (64, 0.2, 4), (64, 0.5, 2), (256, 0.2, 8), (4096, 0.2, 16)]
)
def test_every_window_of_the_closed_form_is_safe(bits: int, slack: float, step: int) -> None:
    """(∗) holds in every window, with 10 % less z it does not; the light factor is at most e; budgets add up."""
    people, beta = 10**7, 0.05
    form = theory.closed_form(people, 1.0, bits, beta, slack, step)
    z = form.standard_errors
    assert worst_window(form, bits, beta, slack, z) >= -1e-9
    assert worst_window(form, bits, beta, slack, 0.9 * z) < 0
    channel = theory.Channel.best(1.0)
    tilt = math.expm1(channel.per_match * z / channel.stderr(people)) / channel.per_match
    assert tilt <= 1.1 * z / channel.stderr(people)
    least = people / form.heavy
    light = theory.light_exponent(tilt, people, least, form.depths, form.shares, bits, form.heavy)
    assert light <= 1
    assert form.heavy**2 / 2 * 2.0 ** -form.depths[0] <= beta / 5
    windows = len(form.depths) * (len(form.depths) + 1) / 2
    assert windows * math.exp(-(form.margin**2) / 2) == pytest.approx(beta / 4)
    assert 2.0**form.log2_listed * beta / (16 * windows) == pytest.approx(math.exp(1 + form.margin**2 / (4 * slack)))
    assert min(form.shares) > 0
    assert sum(form.shares) == pytest.approx(1)


def test_the_closed_form_has_the_numbers_of_the_page() -> None:
    """z_T, T, L, B and the ratio to √(2 ln N) at a million people, ε = 1; and it approaches 1 + δ."""
    sd = theory.Channel.best(1.0).stderr(10**6)
    for slack, z, threshold, listed, beam in ((0.2, 14.59, 14.79, 46.7, 56.7), (0.5, 16.52, 16.79, 28.2, 38.6)):
        form = theory.closed_form(10**6, 1.0, 64, 0.05, slack)
        assert form.standard_errors == pytest.approx(z, abs=5e-3)
        assert form.threshold / sd == pytest.approx(threshold, abs=5e-3)
        assert (form.log2_listed, form.log2_beam) == pytest.approx((listed, beam), abs=0.05)
    ratios = [
        theory.closed_form(10**10, 1.0, bits, 0.05, 0.2, bits // 16).standard_errors / math.sqrt(2 * bits * math.log(2))
        for bits in (256, 4096, 65536)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert 1.2 < ratios[-1] < 1.21


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"beta": 0.2}, "beta"),
        ({"slack": 0.0}, "slack"),
        ({"bits": 16}, "roots"),
        ({"people": 10_000}, "people"),
        ({"epsilon": 0.001}, "epsilon"),
        ({"bits": 32, "slack": 0.05}, "bits"),
    ],
)
def test_a_hypothesis_that_fails_is_named(change: dict[str, float], named: str) -> None:
    """The closed form is refused where it is not proved."""
    request: dict[str, float] = {"people": 10**6, "epsilon": 1.0, "bits": 64, **change}
    with pytest.raises(ParameterError, match=named):
        theory.closed_form(**request)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "people"), [(0.5, 10**5), (1.0, 10**6), (4.0, 10**6)])
def test_a_comparison_that_is_wrong_by_more_is_rare(epsilon: float, people: int) -> None:
    """D: rivals of every size with D fewer holders, as many as there can be, together exceed β/10 nowhere.

    The chance is that of a normal law, which is below the bound that the proof uses. With a third of D it is above.
    """
    channel, beta, heavy = theory.Channel.best(epsilon), 0.05, 500.0

    def chance(gap: float) -> float:
        total = 0.0
        for size in range(1, 9):
            holders = min(people, 2.0 ** (1 - size) * people + gap)
            spread = math.sqrt(2 * people * channel.noise + holders * max(channel.own_noise - channel.noise, 0.0))
            total += 2.0 ** (size + 1) * float(stats.norm.sf(gap / spread))
        return total

    gap = theory.comparison_error(channel, people, heavy, beta)
    assert chance(gap) <= beta / 10 < chance(gap / 3)


# Theorem D.


def test_the_mean_of_draws_has_an_upper_limit() -> None:
    """A coin whose chance is the limit shows so small a mean as rarely as is stated; one with that mean does not."""
    for shown, draws in ((0, 100), (5, 1000), (376, 20_000)):
        limit = largest_mean(shown / draws, draws, 1e-3)
        assert stats.binom.cdf(shown, draws, limit) <= 1e-3 * (1 + 1e-9)
        assert stats.binom.cdf(shown, draws, max(shown / draws, 1e-9)) > 0.4
    assert largest_mean(1.0, 10) == 1.0


def test_the_rule_keeps_every_window_safe() -> None:
    """Shares are positive and add up; roots, beam and levels are those of the theorem."""
    bound = PathBound(10**6, 1.0, 64)
    assert (bound.root_bits, len(bound.depths)) == (23, 12)
    assert sum(bound.shares) == pytest.approx(1)
    assert min(bound.shares) > 0
    assert bound.heavy**2 * 2.0 ** -(bound.root_bits + 1) == pytest.approx(bound.beta / 5)
    pooled = math.exp(bound.log_level(0)) * 2.0**64
    siblings = sum(
        math.exp(bound.log_level(row)) * bound.heavy * 2.0 ** (64 - bound.depths[row - 1])
        for row in range(1, len(bound.depths))
    )
    assert pooled + siblings == pytest.approx(bound.beta / 5)


def test_fewer_holders_are_lost_more_often() -> None:
    """The bound falls with the holders, from everything to nearly nothing, and no draw exceeds 1."""
    bound = PathBound(10**6, 1.0, 64)
    chances = [bound.lost(held, np.random.default_rng(1), 500) for held in (12_000, 20_000, 24_000, 30_000)]
    means = [float(each.mean()) for each in chances]
    assert means == sorted(means, reverse=True)
    assert means[0] > 0.99
    assert means[-1] < 1e-2
    assert all((each >= 0).all() and (each <= 1).all() for each in chances)


def test_a_value_that_everybody_holds_is_found() -> None:
    """Where nobody else is left to share a prefix there is no light factor, and no division by nobody."""
    chances = PathBound(2000, 1.0, 24, beta=0.1, root_bits=16, listed=16).lost(2000, np.random.default_rng(1), 20)
    assert (chances < 1e-6).all()


def test_light_values_count_in_deep_rows_too() -> None:
    """If all report on one deep row, a light value with very many holders looks like anything, so nothing passes.

    With longer roots fewer holders make a value heavy, and the same matches pass.
    """
    for root_bits, passes in ((12, False), (40, True)):
        bound = PathBound(10**6, 1.0, 320, root_bits=root_bits)
        reports = np.zeros((1, len(bound.depths)), np.int64)
        matches = reports.copy()
        reports[0, -1], matches[0, -1] = 10**6, 250_000 + 30 * 433
        assert bound.passes(matches, reports).tolist() == [passes]


def test_crowds_for_which_nothing_is_proved_are_refused() -> None:
    """No room for roots, roots too short for heavy values, a crowd of which not even half is found, too few draws."""
    with pytest.raises(ParameterError, match="than roots, which have 32, got 32 bits"):
        PathBound(10**7, 4.0, 32)
    with pytest.raises(ParameterError, match="roots"):
        PathBound(10**6, 1.0, 64, root_bits=7)
    with pytest.raises(ParameterError, match="draws"):
        PathBound(10**6, 1.0, 64).threshold(1500)
    with pytest.raises(ParameterError, match="people"):
        PathBound(200, 1.0, 64).threshold(2000)
    with pytest.raises(ParameterError, match="people must be more for a bound to exist, got people=1"):
        PathBound(1, 1.0, 64)


# Theorem F.


def worst_relative_window(lengths: theory.Lengths, length: int, beta: float, slack: float, scale: float) -> float:
    """The same as `worst_window` for one length of Theorem F, at z times `scale`; rounding of depths loses a bit."""
    rows, g = len(lengths.cumulative), math.log2(lengths.heavy)
    margin = math.sqrt(2 * math.log(2 * rows * (rows + 1) / beta))
    z = scale * (1 + slack) * math.sqrt(2 * math.log(2) * (length + lengths.extra))
    depths, shares = lengths.relative_depths(length), lengths.cumulative
    free, worst = margin**2 / (4 * slack), math.inf
    pruned = [t for t in range(rows) if lengths.root_bits <= g + (length + lengths.extra) * shares[t] < length]
    windows = [(share, (depths[t] - g) * math.log(2) - free) for t, share in enumerate(shares) if t in pruned]
    for t in pruned:
        windows += [
            (shares[t] - shares[j], (depths[t] - depths[j] - 1) * math.log(2) - free)
            for j in range(t)
            if depths[j] < depths[j + 1]
        ]
    windows.append((1.0, math.log(10 * math.e * 2.0**length / beta)))
    for j in range(rows - 1):
        if depths[j] < length:
            bits = length - depths[j] + g
            windows.append((1 - shares[j], math.log(10 * math.e * rows / beta) + bits * math.log(2)))
    for share, nats in windows:
        if nats > 0:
            worst = min(worst, math.sqrt(share) * z - math.sqrt(2 * nats) - margin)
    return worst


def test_relative_depths_keep_every_window_safe() -> None:
    """Theorem F: one set of shares, every length from root to 256 bits; with 15 % less z it fails."""
    beta, slack, root, heavy = 0.05, 0.5, 26, 700.0
    lengths = theory.Lengths.of(beta, slack, root, heavy, [(row + 1) / 40 for row in range(40)])
    every = range(root + 1, 257)
    assert all(lengths.relative_depths(length)[-1] == length for length in every)
    assert all(lengths.relative_depths(length)[0] == min(lengths.relative_depths(length)) == root for length in every)
    assert min(worst_relative_window(lengths, length, beta, slack, 1.0) for length in every) >= -1e-9
    assert min(worst_relative_window(lengths, length, beta, slack, 0.85) for length in every) < 0
    with pytest.raises(ParameterError, match="share"):  # paths below one root would part before the first row
        lengths.relative_depths(1024)


# Theorem E.


def information(channel: np.ndarray, share: float) -> float:
    """I(X; report) in nats: each person holds X with chance `share`, and otherwise a uniform value."""
    mean = channel.mean(axis=0)
    laws = share * channel + (1 - share) * mean
    return float((laws * np.log(laws / mean)).sum() / len(channel))


def information_bound(grown: float, share: float) -> float:
    """What the proof of Theorem E allows a report to say."""
    return share**2 * (grown - 1) ** 2 / (8 * grown * (1 - share))


def test_no_private_report_says_more_than_the_converse_allows() -> None:
    """Random channels stay below the bound; randomised response over E + 1 values reaches 98 % of it."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        values, outputs, grown = int(rng.integers(2, 7)), int(rng.integers(2, 9)), float(rng.uniform(1.1, 30))
        raw = np.where(rng.random((values, outputs)) < rng.random(), math.sqrt(grown), 1.0) * rng.random(outputs)
        channel = raw / raw.sum(axis=1, keepdims=True)
        worst = float((channel.max(axis=0) / channel.min(axis=0)).max())
        for share in (0.01, 0.2, 0.7):
            assert information(channel, share) <= information_bound(worst, share) * (1 + 1e-9) + 1e-14
    for values in (3, 4, 8):
        grown = values - 1.0
        best = (np.ones((values, values)) + (grown - 1) * np.eye(values)) / (grown + values - 1)
        reached = information(best, 1e-3) / information_bound(grown, 1e-3)
        assert 0.98 < reached <= 1


def test_the_converse_is_fano_s_inequality() -> None:
    """At the share it uses a guess would err more often than β + 2χ; the numbers are those of the page."""
    for people, epsilon, bits, expected in (
        (10**6, 1.0, 64, 16_819),
        (10**5, 1.0, 32, 3_577),
        (10**6, 2.0, 256, 15_000),
        (10**7, 0.5, 64, 111_960),
    ):
        assert theory.converse(people, epsilon, bits, 0.05) == pytest.approx(expected, rel=1e-3)
    limits = [theory.converse(10**14, 1.0, bits, 0.05) / theory.best_stderr(10**14, 1.0) for bits in (32, 64, 256)]
    assert limits == pytest.approx([6.38, 9.10, 18.32], abs=0.02)
    for bits, limit in zip((32, 64, 256), limits, strict=True):
        nats = bits * math.log(2)
        assert 1 - (limit**2 / 2 + math.log(2)) / nats == pytest.approx(0.05, abs=4e-3)
    assert theory.converse(10**6, 1.0, 1, 0.05) == 0  # Fano's inequality says nothing about two values


@pytest.mark.parametrize("bound", [theory.exhaustive_limit, theory.converse])
def test_limits_grow_as_they_say(bound: Callable[[int, float, int, float], float]) -> None:
    """Like √n, up, and in wide universes like √(2 ln N)·sd*, the converse √(1 − β) of it."""
    assert bound(4 * 10**12, 1.0, 64, 0.05) == pytest.approx(2 * bound(10**12, 1.0, 64, 0.05), rel=1e-3)
    ratio = bound(10**14, 1.0, 2**14, 1e-6) / (math.sqrt(2 * 2**14 * math.log(2)) * theory.best_stderr(10**14, 1.0))
    assert ratio == pytest.approx(1, abs=0.04)
