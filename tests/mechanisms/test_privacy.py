"""The privacy of what runs, computed again by other means from the integers a survey carries."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hubbub import Categories, Integers, ParameterError, create_survey, mechanism_for
from hubbub.mechanisms.channels import LaplaceChannel
from hubbub.numeric.sampling import DiscreteLaplace, response_threshold
from hubbub.testing import public_seed, some_items

ONE_BIT = [("jl", {"projection": "hadamard"}), ("jl", {"projection": "dense"}), ("bucket", {}), ("glps", {})]


def survey_of(name: str, options: dict, epsilon: object = 1, bits: int = 8, **more):
    """A small survey."""
    return create_survey(
        "privacy", Integers(bits), epsilon, None, name, options, 500, public_seed=public_seed(1), **more
    )


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3.7", "12"])
@pytest.mark.parametrize(("name", "options"), ONE_BIT)
def test_one_bit_reports_lie_exactly_from_the_threshold_on(name: str, options: dict, epsilon: str) -> None:
    """Every word below the threshold tells the truth and every other lies, so the ratio is t : 2^64 − t ≤ e^ε."""
    mechanism = mechanism_for(survey_of(name, options, epsilon))
    threshold = mechanism.channel.threshold
    items = some_items(mechanism, mechanism.survey, 16)
    words = np.random.default_rng(1).integers(0, 2**64, (16, 3), dtype=np.uint64)
    truth = mechanism.sign_bits_at(items, mechanism.channel.rows_of(words[:, :2]))
    for word, lie in ((0, 0), (threshold - 1, 0), (threshold, 1), (2**64 - 1, 1)):
        words[:, 2] = word
        assert np.array_equal(mechanism.randomize(items, words)["bit"], truth ^ lie)
    with localcontext() as context:
        context.prec = 60
        assert (Decimal(threshold) / Decimal(2**64 - threshold)).ln() <= Decimal(epsilon)


@pytest.mark.parametrize(("name", "options"), ONE_BIT)
def test_public_coins_do_not_depend_on_the_value(name: str, options: dict) -> None:
    """For one id every item has a report with the same id and a payload of the same size: only the bit differs."""
    mechanism = mechanism_for(survey_of(name, options))
    items = some_items(mechanism, mechanism.survey, 64)
    words = np.tile(np.array([[3, 5, 7]], np.uint64), (64, 1))
    reports = mechanism.randomize(items, words)
    assert len({report.tobytes()[:16] for report in reports}) == 1
    assert set(reports["bit"].tolist()) == {0, 1}


def noise_chances(noise: DiscreteLaplace) -> list[Fraction]:
    """The exact law of a draw, from −bound to bound."""
    one = [Fraction(1)]
    for j, threshold in enumerate(noise.digit_thresholds):
        chance = Fraction(threshold, 2**64)
        one = [p * (1 - chance) for p in one] + [p * chance for p in one]
        assert len(one) == 2 << j
    size = len(one)
    both = [Fraction(0)] * (2 * size - 1)
    for i, p in enumerate(one):
        for k, q in enumerate(one):
            both[i - k + size - 1] += p * q
    return both


def naive_delta(noise: DiscreteLaplace, epsilon: Decimal) -> Decimal:
    """The exact delta of two histogram entries changed by one, over every pair of outcomes."""
    with localcontext() as context:
        context.prec = 60
        law = [Decimal(p.numerator) / Decimal(p.denominator) for p in noise_chances(noise)]
        zero, one = [*law, Decimal(0)], [Decimal(0), *law]  # a true count of 0 and of 1
        grown = epsilon.exp()
        return sum(
            (
                max(one[i] * zero[k] - grown * zero[i] * one[k], Decimal(0))
                for i in range(len(zero))
                for k in range(len(zero))
            ),
            Decimal(0),
        )


@pytest.mark.parametrize("epsilon", ["1", "2.5", "8"])
def test_naive_delta_is_within_what_is_stated(epsilon: str) -> None:
    """Summed exactly over all outcomes, the delta of the truncated, rounded noise is within the guarantee."""
    mechanism = mechanism_for(create_survey("privacy", Categories(["a", "b", "c"]), epsilon, mechanism="naive-laplace"))
    exact = naive_delta(mechanism.channel.noise, Decimal(epsilon))
    assert exact <= mechanism.guarantee.delta < Decimal("1e-15")


@pytest.mark.parametrize(
    "rate",
    [pytest.param("0.5", marks=pytest.mark.slow), "2", "4.5", "40", "100", "150", "235", "300", "499", "500", "1000"],
)
@pytest.mark.parametrize("epsilon", ["1", "9", "80", "201", "300", "470", "600", "999", "1000"])
def test_no_delta_is_below_the_exact_one(rate: str, epsilon: str) -> None:
    """Whatever noise meets whatever ε, the guarantee is no better than the sum over all outcomes says."""
    noise = DiscreteLaplace.with_rate(Decimal(rate))
    claimed = LaplaceChannel(4, changed=2, step=1, noise=noise).guarantee(Decimal(epsilon)).delta
    assert naive_delta(noise, Decimal(epsilon)) <= claimed <= 1


@pytest.mark.parametrize("epsilon", ["100", "300", "471", "600", "1000"])
def test_noise_that_is_none_is_no_privacy(epsilon: str) -> None:
    """With thresholds of 0 a report is plain text: its delta is 1, and no such survey is made."""
    bare = DiscreteLaplace(Decimal(epsilon) / 2, (0,))
    assert naive_delta(bare, Decimal(epsilon)) == 1
    assert LaplaceChannel(4, changed=2, step=1, noise=bare).guarantee(Decimal(epsilon)).delta == 1
    with pytest.raises(ParameterError, match="delta must be at least"):
        create_survey("privacy", Categories(["a", "b", "c"]), epsilon, mechanism="naive-laplace")
    with pytest.raises(ParameterError, match="delta must be at least"):
        create_survey("privacy", Categories(["a", "b", "c"]), epsilon, "0.36", mechanism="naive-laplace")


@pytest.mark.parametrize("epsilon", ["43", "44.4", "50", "199", "201", "1000"])
@pytest.mark.parametrize("symbols", [2, 4, 256])
def test_no_threshold_is_certain(epsilon: str, symbols: int) -> None:
    """However large ε is, a response is random with a chance of at least 2^-64, and within ε by the exact ratio."""
    threshold = response_threshold(Decimal(epsilon), symbols)
    assert 0 < threshold < 2**64
    ratio = Fraction(2**64 + (symbols - 1) * threshold, 2**64 - threshold)
    with localcontext() as context:
        context.prec = 60
        assert Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(epsilon).exp()


def test_naive_delta_notices_the_paper_s_factor_two() -> None:
    """The mutant is the paper's own scale 1/ε (E8): its delta at ε is nowhere near nothing."""
    halved = DiscreteLaplace.with_rate(1.0)
    assert naive_delta(halved, Decimal(1)) > Decimal("0.1")
    assert LaplaceChannel(4, changed=2, step=1, noise=halved).guarantee(Decimal(1)).delta > Decimal("0.1")


def numeric_delta(noise: DiscreteLaplace, step: int, changed: int, epsilon: float) -> float:
    """An upper bound on delta from the law of the privacy loss of one coordinate, convolved by Fourier transform.

    Losses are rounded up to a grid, so that the result is above the truth by a little; no composition theorem is
    used.
    """
    digits = [threshold / 2.0**64 for threshold in noise.digit_thresholds]
    one = np.ones(1)
    for chance in digits:
        one = np.concatenate([one * (1 - chance), one * chance])
    size = 1 << (2 * len(one)).bit_length()
    law = np.maximum(np.fft.irfft(np.abs(np.fft.rfft(one, size)) ** 2, size), 0)
    law = np.roll(law, len(one) - 1)[: 2 * len(one) - 1]
    shifted = np.concatenate([np.zeros(step), law])[: len(law)]  # the other value moves the answer by `step`
    sure = law > 1e-18
    infinite = float(law[sure & (shifted <= 1e-18)].sum()) + 1e-12
    both = sure & (shifted > 1e-18)
    loss = np.log(law[both] / shifted[both])
    grid = float(noise.rate) * step / 500
    steps = np.ceil(loss / grid - 1e-9).astype(int)
    low = int(steps.min())
    width = 1 << (changed * (int(steps.max()) - low) + 1).bit_length()
    once = np.bincount(steps - low, weights=law[both], minlength=width)
    composed = np.maximum(np.fft.irfft(np.fft.rfft(once) ** changed, width), 0)
    total = (np.arange(width) + changed * low) * grid
    over = total > epsilon
    return float(np.sum(composed[over] * -np.expm1(epsilon - total[over]))) + changed * infinite


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("name", ["jl", pytest.param("bucket", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "1e-4"), ("3", "1e-3")])
def test_laplace_delta_is_within_what_is_stated(name: str, calibration: str, epsilon: str, delta: str) -> None:
    """The numerically composed loss of all coordinates is within the stated delta, which half the noise is not."""
    survey = create_survey(
        "privacy",
        Integers(6),
        epsilon,
        delta,
        name,
        {"calibration": calibration},
        10_000,
        public_seed=public_seed(1),
    )
    channel = mechanism_for(survey).channel
    bound = float(channel.guarantee(Decimal(epsilon)).delta)
    assert numeric_delta(channel.noise, channel.step, channel.changed, float(epsilon)) <= max(bound, 1e-9) * 1.05
    assert bound <= float(delta)
    if calibration == "tight":
        weak = DiscreteLaplace.with_rate(2 * channel.noise.rate)
        assert numeric_delta(weak, channel.step, channel.changed, float(epsilon)) > float(delta)


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("3", "1e-3")])
def test_glps_delta_is_within_what_is_stated(calibration: str, epsilon: str, delta: str) -> None:
    """In a slot one answer moves by 2, or two by 1: both are within the stated delta, half the noise is not."""
    options = {"calibration": calibration, "layout": "lean", "sparsity": 1}
    channel = mechanism_for(create_survey("privacy", Integers(6), epsilon, delta, "glps", options)).channel
    bound = float(channel.guarantee(Decimal(epsilon)).delta)
    assert bound <= float(delta)
    for step, changed in ((2, channel.groups), (1, channel.changed)):
        assert numeric_delta(channel.noise, step, changed, float(epsilon)) <= max(bound, 1e-9) * 1.05
    if calibration == "tight":
        weak = DiscreteLaplace.with_rate(2 * channel.noise.rate)
        assert numeric_delta(weak, 2, channel.groups, float(epsilon)) > float(delta)


@pytest.mark.parametrize(("name", "step"), [("jl", 2), ("bucket", 1)])
def test_two_values_differ_as_the_channel_says(name: str, step: int) -> None:
    """No two items' answers differ by more than `step` in a row, or in more rows than `changed`."""
    mechanism = mechanism_for(survey_of(name, {"calibration": "tight"}, bits=6))
    items = some_items(mechanism, mechanism.survey, 64)
    answers = mechanism.responses(items).astype(int)
    apart = np.abs(answers[:, np.newaxis] - answers[np.newaxis])
    assert apart.max() == step == mechanism.channel.step
    assert (apart > 0).sum(axis=2).max() <= mechanism.channel.changed == mechanism.rows


def test_noise_is_drawn_once_per_person() -> None:
    """Oracle 16 (E3): what a person sends has m numbers, whatever the universe is."""
    reports = {
        bits: mechanism_for(create_survey("x", Integers(bits), 1, 1e-6, "jl", {"calibration": "paper"}, 1_000_000))
        .report_dtype["responses"]
        .shape
        for bits in (16, 20, 24)
    }
    assert set(reports.values()) == {(18096,)}


def test_epsilon_is_an_upper_bound_over_a_grid() -> None:
    """For every mechanism and many epsilons, what executes is within what is stated, and close to it."""
    for tenth in range(1, 60, 7):
        for name, options in ONE_BIT:
            guarantee = mechanism_for(survey_of(name, options, Decimal(tenth) / 10)).guarantee
            assert Decimal(tenth) / 10 - Decimal("1e-15") < guarantee.epsilon <= Decimal(tenth) / 10
            assert guarantee.delta == 0


def test_larger_answers_than_the_noise_can_reach_are_invalid() -> None:
    """Validation is exact at the edge: the largest honest answer passes and the next does not."""
    mechanism = mechanism_for(survey_of("bucket", {"calibration": "tight"}, bits=6))
    report = np.zeros(4, mechanism.report_dtype)
    largest = mechanism.channel.noise.bound + 1
    for index, value in enumerate((largest, -largest, largest + 1, -largest - 1)):
        report["responses"][index, 3] = value
    assert mechanism.validate(report).tolist() == [True, True, False, False]


def test_guarantee_never_overflows() -> None:
    """A huge epsilon is stated as it is and its bit tells the truth all but once in 2^64."""
    mechanism = mechanism_for(survey_of("jl", {}, 1000))
    assert mechanism.channel.threshold == 2**64 - 1
    assert float(mechanism.guarantee.epsilon) == pytest.approx(64 * math.log(2))
