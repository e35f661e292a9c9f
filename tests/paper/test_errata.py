# ruff: noqa: ARG005
"""Every entry of docs/paper.md as a claim that is checked, and wrong versions of it that the check must notice."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import zeta
from tests.mechanisms import test_bucket, test_glps, test_privacy

from hubbub import Histogram, Integers, create_survey, mechanism_for
from hubbub.errors import HubbubError
from hubbub.mechanisms import bucket, calibration, channels, jl_hh, naive_laplace
from hubbub.mechanisms.bucket import Bucket
from hubbub.mechanisms.glps import plan, recovery
from hubbub.mechanisms.glps.operator import Layout
from hubbub.model.domain import Categories
from hubbub.model.estimates import Query
from hubbub.numeric import composition
from hubbub.numeric.sampling import DiscreteLaplace
from hubbub.paper import groups, theorems
from hubbub.simulation import population
from hubbub.testing import public_seed

SCALE = 274.9517662667045  # the paper's b for 36 · 19 rows at ε = 1, δ = 1e-6


def hockey_stick(first: list[float], second: list[float], epsilon: float) -> float:
    """The least δ with which `first` is within e^ε of `second`."""
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in zip(first, second, strict=True))


def e1() -> None:
    """Two values of one person are within (2ε, (1 + e^ε)δ) if both are within (ε, δ) of no value; here within ε."""
    epsilon, delta = 0.7, 0.05
    nobody = [0.25, 0.25, 0.5]
    one = [nobody[0] * math.exp(epsilon) + delta, 0.2, 1 - nobody[0] * math.exp(epsilon) - delta - 0.2]
    two = [(nobody[0] - delta) * math.exp(-epsilon), 0.5, 0.5 - (nobody[0] - delta) * math.exp(-epsilon)]
    assert hockey_stick(one, nobody, epsilon) == pytest.approx(delta)
    assert hockey_stick(nobody, two, epsilon) == pytest.approx(delta)
    assert hockey_stick(one, two, 2 * epsilon) <= (1 + math.exp(epsilon)) * delta + 1e-12
    assert hockey_stick(one, two, epsilon) > delta  # so (ε, δ) itself is not promised
    test_privacy.test_two_values_differ_as_the_channel_says("jl", 2)


def e2() -> None:
    """Under replacement the step is 2; the printed noise is enough for ε < 1, δ ≤ 1/e all the same."""
    for epsilon in (0.1, 0.5, 0.99):
        for delta in (1e-9, 1e-6, 1e-3, 0.1, math.exp(-1)):
            for rows in (1, 4, 64, 4096):
                each = 2 * composition.theorem_each(epsilon, rows, delta)
                assert composition.composed_delta(epsilon, each, rows) <= delta
    assert composition.composed_delta(8, 2 * composition.theorem_each(8, 65536, 1e-3), 65536) > 1e-3


def e3() -> None:
    """A person sends m noisy numbers, whatever the universe is: no copies for every value."""
    test_privacy.test_noise_is_drawn_once_per_person()


def e4() -> None:
    """γ = 1/n² makes m grow like n⁴; rows that run grow like n."""
    assert theorems.jl_paper_rows(2000, 2**20, 0.05) == pytest.approx(16 * theorems.jl_paper_rows(1000, 2**20, 0.05))
    rows = [
        mechanism_for(create_survey("x", Integers(20), 1, 1e-6, "jl", {"calibration": "paper"}, people)).rows
        for people in (10**6, 4 * 10**6)
    ]
    assert rows[1] == pytest.approx(4 * rows[0], rel=1e-3)


def e5() -> None:
    """That m is no O(log N): a crowd of a thousand asks for more numbers than there are values."""
    assert theorems.jl_paper_rows(1000, 2**20, 0.05) > 2**20
    survey = create_survey("x", Integers(20), 1, mechanism="jl")
    assert mechanism_for(survey).report_dtype.itemsize == 17


def e6() -> None:
    """Theorem 2.5 fails for δ above 0.997 or so and ε near 1, and not for δ up to 0.99."""
    for epsilon in (0.05, 0.5, 0.999):
        for times in (1, 3, 30, 1000):
            for delta in (0.37, 0.9, 0.99):
                each = composition.theorem_each(epsilon, times, delta)
                assert composition.composed_delta(epsilon, each, times) <= delta
    assert composition.composed_delta(0.999, composition.theorem_each(0.999, 100, 0.997), 100) > 0.997


def e7() -> None:
    """Plain composition allows more than Theorem 2.5 below 8·ln(1/δ) parts, and less above."""
    edge = 8 * math.log(1e6)
    assert composition.theorem_each(1, math.floor(edge), 1e-6) < 1 / math.floor(edge)
    assert composition.theorem_each(1, math.ceil(edge), 1e-6) > 1 / math.ceil(edge)
    assert composition.largest_each(1, 10, 1e-6) >= 1 / 10


def e8() -> None:
    """Two entries change, so the scale is 2/ε; half of it has a δ above 0.1."""
    mechanism = mechanism_for(create_survey("x", Categories(["a", "b"]), 1, mechanism="naive-laplace"))
    assert float(mechanism.channel.noise.rate) == 0.5
    test_privacy.test_naive_delta_notices_the_paper_s_factor_two()


def e9() -> None:
    """JL-HH has √(8·ln(1/δ))/2 times the error of the baseline of scale 2/ε: 5.26 times at δ = 1e-6."""
    people, size = 10**6, 2**16
    for delta, ratio in ((1e-6, 5.2565), (1e-3, 3.7170)):
        scale = theorems.laplace_scale(1, delta)
        error = jl_hh.laplace_error(people, size, 1e6, size, scale, 0.05, hadamard=True)
        assert error / naive_laplace.largest_error(people, size, 1, 0.05) == pytest.approx(ratio, rel=1e-4)


def e10() -> None:
    """√ln does not hold for few terms: one Laplace variable. Bounds have it where 6·ln(2/β) is at most their number."""
    beta = 1e-6
    assert math.exp(-math.sqrt(6 * math.log(2 / beta))) > beta  # P(|X| > b·√(6·ln(2/β))) for one term
    assert math.exp(-math.sqrt(6) * math.log(2 / beta)) <= beta  # and T_β as printed holds
    assert 6 * math.log(24 * 36) <= 1000
    noise = bucket.needed_count(1000, 0.0, 36, 1.0)
    assert noise == pytest.approx(2 * math.sqrt(6 * 1000 * math.log(24 * 36)))


def e11() -> None:
    """C_k falls, C_2 is 2.0045 and C_4 1.0003."""
    assert theorems.moment_constant(2) == pytest.approx(2.0045489, rel=1e-7)
    assert theorems.moment_constant(4) == pytest.approx(1.000326, rel=1e-6)
    assert theorems.moment_constant(6) < 0.5


def e12() -> None:
    """Chebyshev: variance c/4 leaves β/3k₁ beyond half of √(3·k₁·c/β); the printed t is four times that."""
    rows, norm = 36, 7.0
    assert bucket.needed_count(1000, norm, rows, 0.0) == pytest.approx(math.sqrt(432) * norm)
    half = bucket.needed_count(1000, norm, rows, 0.0) / 2
    assert norm**2 / 4 / half**2 == pytest.approx(0.25 / (3 * rows))
    assert 2 * math.sqrt(12 * rows / 0.25) * norm == pytest.approx(4 * 2 * half)


def e13() -> None:
    """The noise counts twice; the lemma holds as printed, since 2√x ≤ x for x = ln(24·k₁) from k₁ = 3 on."""
    assert bucket.needed_count(10**6, 0.0, 36, SCALE) == pytest.approx(
        2 * SCALE * math.sqrt(6 * 10**6 * math.log(24 * 36))
    )
    for rows in range(3, 600):
        printed = bucket.needed_count(10**6, 50.0, rows, SCALE, corrected=False)
        assert bucket.needed_count(10**6, 50.0, rows, SCALE) <= printed


def e14() -> None:
    """As printed 8√2; Lemma 4.6 at β = 1/4 says 2√48; Chebyshev's √12 is below both, so the theorem holds."""
    printed, proved = (bucket.needed_count(1, 1.0, 1, 0.0, corrected=c) for c in (False, True))
    assert printed == pytest.approx(8 * math.sqrt(2))
    assert proved == pytest.approx(math.sqrt(12))
    assert proved < printed < 2 * math.sqrt(48)


def zipf_votes(exponent: float, bits: int, runs: int) -> int:
    """How often the paper's vote finds the first value of a Zipf crowd without any noise.

    A billion people on two million values; beyond the first two hundred each is as good as alone.
    """
    weights = np.arange(1, 2_000_001, dtype=np.float64) ** -exponent
    counts = (weights[:200] / weights.sum() * 1e9).astype(np.int64)
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        crowd = Histogram(population.random_items(200, bits, rng), counts, singletons=10**9 - int(counts.sum()))
        mechanism = test_bucket.bucket(Integers(bits), seed=seed, calibration="paper", decoder="hard")
        answer = mechanism.discover(test_bucket.exact_tally(mechanism, crowd, rng), Query(top=1, best_guess=True))
        found += len(answer) == 1 and np.array_equal(answer.items[0], crowd.items[0])
    return found


def e15() -> None:
    """Among 2^64 values the vote fails in most runs at exponent 1.2, and never at 1.5 and 2; the conditions' edges."""
    assert zipf_votes(1.2, 64, 40) == 13
    assert zipf_votes(1.5, 64, 10) == zipf_votes(2.0, 64, 10) == 10
    for exponent, holds in ((0.86, False), (0.87, True)):  # v₁ at least the norm of the others
        assert (zeta(2 * exponent) - 1 <= 1) == holds
    for exponent, holds in ((6.0, False), (6.1, True)):  # and 8·√(2·log₂ 12N) times that, at 2^32
        alone = bucket.needed_count(1, math.sqrt(zeta(2 * exponent) - 1), math.log2(12 * 2**32), 0.0, False)
        assert (alone <= 1) == holds


def e16() -> None:
    """Whole rows: 36 in 19 trials among 2^32 values, and the noise of 684 parts."""
    test_bucket.test_paper_parameters()


def e17() -> None:
    """6 % of the trials of Algorithm 3 have several solutions; Lemma 4.7 has a budget of a twelfth for them."""
    chance = theorems.rank_deficiency_chance(36, 32)
    assert chance == pytest.approx(0.0612095, rel=1e-6)
    assert chance < 0.25 / 3


def e18() -> None:
    """Value 0 is hashed like any other here."""
    test_bucket.test_value_zero_is_hashed_like_any_other()


def e19() -> None:
    """A solution outside the universe is no vote, ties go to the larger estimate, and no solution is no answer."""
    mechanism = test_bucket.bucket(Categories(list("abcd")), decoder="hard", calibration="paper")
    outside = np.array([6], np.uint64)  # five values in three bits
    assert mechanism.decode_vote(mechanism.signs(outside[np.newaxis])[0] * 1000.0) is None
    test_bucket.test_a_solution_outside_the_universe_is_bottom()
    test_bucket.test_the_vote_ignores_bottom_and_breaks_ties_by_the_estimate()


def e20() -> None:
    """(n·log² N + log³ N)·log(1/β): twice the bits is four times the work of a person, eight times that of solving."""
    person = [theorems.bucket_operations(10**9, bits, 19) for bits in (512, 1024)]
    assert person[1] / person[0] == pytest.approx(4, rel=0.02)
    solving = [theorems.bucket_operations(0, bits, 19) for bits in (512, 1024)]
    assert solving[1] / solving[0] == pytest.approx(8, rel=0.02)
    assert theorems.bucket_operations(1000, 32, 38) == 2 * theorems.bucket_operations(1000, 32, 19)


def e21() -> None:
    """α of Theorem 4.2 is n/√s for its s, grows like n^(5/6), and holds but for a chance of 1/4 + β."""
    given = (2**32, 1, 1e-6, 0.1)
    error, failure = theorems.glps_paper_error(10**6, *given)
    assert error == pytest.approx(10**6 / math.sqrt(plan.paper_sparsity(10**6, *given)))
    assert theorems.glps_paper_error(64 * 10**6, *given)[0] == pytest.approx(32 * error)
    assert failure == pytest.approx(0.35)


def e22() -> None:
    """The argmax may be worse than the best by twice the largest error, and never by more."""
    truth = np.array([2.0, 0.0])
    assert truth.max() - truth[np.argmax(truth + np.array([-1.0, 1.0 + 1e-9]))] == 2
    rng = np.random.default_rng(1)
    for _ in range(100):
        truth, error = rng.normal(size=20), rng.normal(size=20)
        assert truth.max() - truth[np.argmax(truth + error)] <= 2 * np.abs(error).max()


def e23() -> None:
    """Noise counted by slots is far less than for all rows."""
    test_glps.test_scales()


def e24() -> None:
    """Groups: everybody is in one, at the ε of the whole, and each group knows how few it has."""
    survey = create_survey("x", Integers(32), 1, None, "glps", {}, 900_000, public_seed=public_seed(1))
    parts = groups.group_surveys(survey, 3)
    assert {part.expected_reports for part in parts} == {300_000}
    assert {part.epsilon for part in parts} == {survey.epsilon}


def e25() -> None:
    """(½, .1) does not bound the ratio with chance .9; to reveal with chance δ leaves (1 − δ) of the variance."""
    first, second = [0.5, 0.243, 0.257], [0.243, 0.5, 0.257]
    assert max(hockey_stick(first, second, 0.5), hockey_stick(second, first, 0.5)) <= 0.1
    assert sum(p for p, q in zip(first, second, strict=True) if p > math.exp(0.5) * q) == 0.5
    for delta in (0.0, 0.1, 0.5):
        assert theorems.lower_bound_rmse(1, delta) == pytest.approx(math.sqrt(1 - delta) * 0.4434094, rel=1e-6)
    # Half of the bits are revealed; 400,000 crowds of 10,001 people had 0.2159.
    assert theorems.lower_bound_failure(0.0, 1, 0.5) == pytest.approx(0.2157, abs=2e-3)
    assert theorems.lower_bound_failure(0.25, 1, 0.5) < theorems.lower_bound_failure(0.25, 1) - 0.05


def e26() -> None:
    """The posterior of a bit is e^ε/(1 + e^ε) or 1 less that, which is inside [e^−ε/2, e^ε/2]."""
    for epsilon in (0.1, 0.5, 1.0):
        likely = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert theorems.lower_bound_rmse(epsilon) ** 2 == pytest.approx(likely * (1 - likely))
        assert math.exp(-epsilon) / 2 < 1 - likely < likely < math.exp(epsilon) / 2


def e27() -> None:
    """The chance to miss the heavy hitter, directly: no reduction, so nobody is asked twice."""
    for regret, chance in {0: 0.3471, 0.25: 0.2535, 1: 0.0697}.items():
        assert theorems.lower_bound_failure(regret, 1) == pytest.approx(chance, abs=2e-4)


def e28() -> None:
    """The condition of Theorem 4.8 at a value of half the crowd among 2^32: 8.1e7 people, 4.9e7 corrected."""
    printed = theorems.bucket_needed_people(0.5, math.log2(12 * 2**32), 269.1625023113416, corrected=False)
    assert printed == pytest.approx(8.093e7, rel=1e-3)
    assert theorems.bucket_needed_people(0.5, 36, SCALE) == pytest.approx(4.95e7, rel=5e-3)


def e29() -> None:
    """Only the noise term grows as ε falls; the collision term does not know ε."""
    terms = []
    for epsilon in (1.0, 0.1):
        scale = theorems.laplace_scale(epsilon, 1e-6, 684)
        both, noise = (bucket.needed_count(10**6, norm, 36, scale) for norm in (50.0, 0.0))
        terms.append((both - noise, noise))
    assert terms[0][0] == pytest.approx(terms[1][0])
    assert terms[1][1] == pytest.approx(10 * terms[0][1])


def e30() -> None:
    """The noise of `paper` is for the rows there are, which are many times s·log₂(N/s)."""
    for layout in ("staged", "lean"):
        mechanism = test_glps.glps(calibration="paper", sparsity=4, layout=layout)
        rows = mechanism.layout.cells
        assert rows > 10 * 4 * math.log2(mechanism.survey.domain.size / 4)
        assert 1 / float(mechanism.channel.noise.rate) == pytest.approx(math.sqrt(8 * rows * math.log(1e6)), rel=1e-9)


def e31() -> None:
    """Noise is divided by κ, which grows with log(N/s): it must be at least, not at most, of that order."""
    errors = [recovery.error_bound(0.0, 100.0, 2**bits, 4) for bits in (10, 20, 60)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]


def e32() -> None:
    """k·Γ(k/2) = 2·(k/2)!, which C_k·(k/2)^(k/2) is above, by Stirling."""
    for k in range(2, 41, 2):
        assert k * math.gamma(k / 2) == pytest.approx(2 * math.factorial(k // 2))
        assert theorems.moment_constant(k) * k ** (k / 2) >= 2 ** (k / 2) * k * math.gamma(k / 2)


def e33() -> None:
    """Theorem 2.5 is for ε and δ below 1: at ε = 16 and δ = 0.36 it is false, and the survey is refused."""
    assert composition.composed_delta(16, composition.theorem_each(16, 1024, 0.36), 1024) > 0.36
    for people in (10**6,):
        with pytest.raises(HubbubError, match="delta"):
            create_survey("x", Integers(16), 8, 1e-3, "jl", {"calibration": "paper"}, people)


class Mutant(NamedTuple):
    """A wrong version of what an entry is about."""

    entry: Callable[[], None]
    owner: Any
    name: str
    wrong: Any


REAL = SimpleNamespace(
    needed=bucket.needed_count,
    failure=theorems.lower_bound_failure,
    calibrate=calibration.calibrate_noise,
    each=composition.theorem_each,
    limit_rows=jl_hh.limit_rows,
    constant=theorems.moment_constant,
    rows=theorems.jl_paper_rows,
)


def without_collisions(people, norm, rows, scale, corrected=True, beta=0.25):  # type: ignore[no-untyped-def]
    """The √12 set to 0."""
    return REAL.needed(people, 0.0, rows, scale, corrected, beta)


def noise_once(people, norm, rows, scale, corrected=True, beta=0.25):  # type: ignore[no-untyped-def]
    """The noise not doubled."""
    return REAL.needed(people, norm, rows, scale / 2 if corrected else scale, corrected, beta)


def with_ln(people, norm, rows, scale, corrected=True, beta=0.25):  # type: ignore[no-untyped-def]
    """Ln where √ln is meant."""
    log = math.log(6 * rows / beta)
    return REAL.needed(people, norm, rows, scale * math.sqrt(log), corrected, beta)


def collisions_by_epsilon(people, norm, rows, scale, corrected=True, beta=0.25):  # type: ignore[no-untyped-def]
    """√c divided by ε too."""
    return REAL.needed(people, norm * max(scale, 1.0), rows, scale, corrected, beta)


MUTANTS = [
    Mutant(e1, calibration, "LaplaceChannel", lambda *a, **k: channels.LaplaceChannel(*a, **{**k, "step": 1})),
    Mutant(e2, composition, "theorem_each", lambda *a: 3 * REAL.each(*a)),
    Mutant(e3, jl_hh, "limit_rows", lambda wanted, request: 1 << request.domain.bits),
    Mutant(e4, theorems, "jl_paper_rows", lambda n, size, beta: math.log(size + 1) * math.log(2 / beta) * n**2),
    Mutant(e4, jl_hh, "limit_rows", lambda wanted, request: REAL.limit_rows(min(wanted, 1000.0), request)),
    Mutant(e5, theorems, "jl_paper_rows", lambda n, size, beta: math.log(size + 1) * math.log(2 / beta)),
    Mutant(e6, composition, "theorem_each", lambda *a: REAL.each(*a) / 2),
    Mutant(e6, composition, "theorem_each", lambda *a: REAL.each(*a) * 3),
    Mutant(e7, composition, "theorem_each", lambda *a: 2 * REAL.each(*a)),
    Mutant(
        e8,
        naive_laplace,
        "DiscreteLaplace",
        SimpleNamespace(with_rate=lambda rate: DiscreteLaplace.with_rate(2 * rate)),
    ),
    Mutant(
        e9, naive_laplace, "largest_error", lambda n, size, epsilon, beta: 2 * math.sqrt(n * math.log(2 * size / beta))
    ),
    Mutant(e9, theorems, "laplace_scale", lambda epsilon, delta, times=1: math.sqrt(8 * times) / epsilon),
    Mutant(e10, bucket, "needed_count", with_ln),
    Mutant(e11, theorems, "moment_constant", lambda k: 2 * math.sqrt(math.pi * k) * math.exp(k / 2 - 1 / (6 * k))),
    Mutant(e12, bucket, "needed_count", without_collisions),
    Mutant(e13, bucket, "needed_count", noise_once),
    Mutant(e14, bucket, "needed_count", without_collisions),
    Mutant(e15, Bucket, "decode_vote", Bucket.decode_soft),
    Mutant(e16, bucket, "calibrate_noise", lambda *a, changed, **k: REAL.calibrate(*a, changed=changed - 1, **k)),
    Mutant(e17, theorems, "rank_deficiency_chance", lambda rows, columns: 0.0),
    Mutant(e18, Bucket, "shifts", property(lambda self: np.zeros(self.rows, np.uint8))),
    Mutant(e19, Bucket, "in_universe", lambda self, item: True),
    Mutant(e20, theorems, "bucket_operations", lambda people, bits, trials: people * trials * bits**3),
    Mutant(e21, theorems, "glps_paper_error", lambda n, *rest: (math.sqrt(n), 0.35)),
    Mutant(e21, plan, "paper_sparsity", lambda *rest: 1.0),
    Mutant(e23, Layout, "slots", property(lambda self: self.cells)),
    Mutant(e24, groups, "group_surveys", lambda survey, count: [survey] * count),
    Mutant(
        e25, theorems, "lower_bound_rmse", lambda epsilon, delta=0.0: math.exp(epsilon / 2) / (1 + math.exp(epsilon))
    ),
    Mutant(e25, theorems, "lower_bound_failure", lambda regret, epsilon, delta=0.0: REAL.failure(regret, epsilon)),
    Mutant(e26, theorems, "lower_bound_rmse", lambda epsilon, delta=0.0: math.exp(epsilon) / 2),
    Mutant(e27, theorems, "lower_bound_failure", lambda regret, epsilon, delta=0.0: 0.05 * math.log2(10**6)),
    Mutant(e28, bucket, "needed_count", without_collisions),
    Mutant(e29, bucket, "needed_count", collisions_by_epsilon),
    Mutant(e30, plan, "calibrate_noise", lambda *a, queries, **k: REAL.calibrate(*a, queries=64, **k)),
    Mutant(e31, recovery, "error_bound", lambda rest, noise, size, s: noise * math.log2(size / s)),
    Mutant(e32, theorems, "moment_constant", lambda k: REAL.constant(k) / max(k / 2 - 1, 0.5)),
    Mutant(e33, composition, "theorem_each", lambda *a: REAL.each(*a) / 2),
]

ENTRIES = [
    e1,
    e2,
    e3,
    e4,
    e5,
    e6,
    e7,
    e8,
    e9,
    e10,
    e11,
    e12,
    e13,
    e14,
    e15,
    e16,
    e17,
    e18,
    e19,
    e20,
    e21,
    e22,
    e23,
    e24,
    e25,
]
ENTRIES += [e26, e27, e28, e29, e30, e31, e32, e33]
WITHOUT_CODE = {22}  # a remark about any argmax


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
def test_an_entry_holds(entry: Callable[[], None]) -> None:
    """What docs/paper.md says is true of the paper, and of what runs."""
    entry()


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=[pytest.mark.slow] if mutant.entry is e15 else []) for mutant in MUTANTS],
    ids=lambda mutant: f"{mutant.entry.__name__} {mutant.name}",
)
def test_a_wrong_version_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check fails if its statement is changed."""
    monkeypatch.setattr(mutant.owner, mutant.name, mutant.wrong)
    with pytest.raises((AssertionError, HubbubError)):
        mutant.entry()


def test_every_entry_of_the_page_is_checked() -> None:
    """Errata, this file and its mutants have the same numbers."""
    page = (Path(__file__).parents[2] / "docs/paper.md").read_text("utf-8")
    numbers = [int(number) for number in re.findall(r"^\| E(\d+) \|", page, re.MULTILINE)]
    here = {int(entry.__name__[1:]) for entry in ENTRIES}
    assert sorted(numbers) == list(range(1, 34))
    assert here == set(numbers)
    assert {int(mutant.entry.__name__[1:]) for mutant in MUTANTS} == here - WITHOUT_CODE
