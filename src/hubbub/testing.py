"""What every mechanism promises, as checks anybody can run, and exact statistical assertions.

`check_mechanism(make_survey)` runs all of CHECKS. A statistical check uses fixed seeds, so it says the same each
time; its critical value is for a false alarm of at most 10⁻⁹ had the seeds been fresh.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
from scipy import stats

from hubbub.errors import LeftOverBytes, ParameterError
from hubbub.mechanisms.registry import load_survey, mechanism_for
from hubbub.model.estimates import MIN_LEVEL, Query
from hubbub.model.mechanism import Histogram, Items, Mechanism, run_protocol
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import SeededWords
from hubbub.wire.report_batch import encode_batch, parse_batch

FALSE_ALARM = 1e-9
_RUNS = 300

MakeSurvey = Callable[[bytes], Survey]
"""A survey of the mechanism under test, for a given public seed."""


def assert_binomial(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> None:
    """Two-sided exact test; wrong with probability at most `false_alarm`."""
    low = stats.binom.ppf(false_alarm / 2, trials, chance)
    high = stats.binom.isf(false_alarm / 2, trials, chance)
    assert low <= successes <= high, (
        f"{successes}/{trials} outside [{low:.0f}, {high:.0f}] for p={chance:.6g}, false alarm {false_alarm:g}"
    )


def assert_same_law(first: np.ndarray, second: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Two samples of one law: the exact two-sample Kolmogorov–Smirnov test."""
    p = float(stats.ks_2samp(first, second, method="exact").pvalue)
    assert p >= false_alarm, f"two samples have different laws: p = {p:.3g}"


def assert_mean_zero(values: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """The mean of independent values is 0: Student's test."""
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    assert p >= false_alarm, f"mean {values.mean():.4g} of {len(values)} values is not 0: p = {p:.3g}"


def assert_unit_spread(values: np.ndarray, slack: float = 0.05, false_alarm: float = FALSE_ALARM) -> None:
    """The root mean square of normalised errors is at most 1 + slack, and not so small that the claim is idle."""
    degrees = len(values)
    low, high = stats.chi2.ppf(false_alarm / 2, degrees), stats.chi2.isf(false_alarm / 2, degrees)
    square = float(np.sum(values**2))
    assert square <= high * (1 + slack) ** 2, f"errors are {math.sqrt(square / degrees):.3f} standard errors"
    assert square >= low * 0.5, f"standard errors are idle: errors are {math.sqrt(square / degrees):.3f} of them"


def public_seed(number: int) -> bytes:
    """A public seed for tests."""
    return number.to_bytes(32, "little")


def some_items(mechanism: Mechanism, survey: Survey, count: int) -> Items:
    """Items spread over the whole universe, the first and the last included."""
    del mechanism
    indices = [survey.domain.size * k // max(count - 1, 1) - (k == count - 1) for k in range(count)]
    width = 8 * survey.domain.item_words
    return np.frombuffer(b"".join(i.to_bytes(width, "little") for i in indices), "<u8").reshape(count, -1)


def crowd_items(survey: Survey, counts: list[int]) -> Items:
    """One row per person: counts[k] people hold the k-th of some items."""
    distinct = some_items(mechanism_for(survey), survey, len(counts))
    return np.repeat(distinct, counts, axis=0)


def check_report_is_pure(make_survey: MakeSurvey) -> None:
    """The same item and words give the same bytes; inputs stay as they were; the id is the first two words."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 5)
    words = SeededWords(1).draw(5, mechanism.words_per_report)
    kept = items.copy(), words.copy()
    first = mechanism.randomize(items, words)
    assert first.tobytes() == mechanism_for(survey).randomize(items, words).tobytes()
    assert np.array_equal(items, kept[0])
    assert np.array_equal(words, kept[1])
    assert np.array_equal(first["id"], words[:, :2])


def check_sizes_are_fixed(make_survey: MakeSurvey) -> None:
    """A report's size and its number of words depend on the survey alone, and other shapes are refused."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 3)
    words = SeededWords(2).draw(3, mechanism.words_per_report)
    sizes = {len(mechanism.randomize(items[k : k + 1], words[k : k + 1]).tobytes()) for k in range(3)}
    assert sizes == {mechanism.report_dtype.itemsize}
    assert mechanism.report_dtype.names is not None
    assert mechanism.report_dtype.names[0] == "id"
    for wrong in (words[:, :-1], words[:2]):
        _assert_refused("words of the wrong shape", mechanism.randomize, items, wrong)


def _assert_refused(what: str, call: Callable[..., object], *arguments: object) -> str:
    """The message of the refusal."""
    try:
        call(*arguments)
    except ParameterError as error:
        return str(error)
    raise AssertionError(f"{what} must be refused")


_WRONG_TYPES = (*"?bhiqBHIefdgFDGO", ">u8", "S20", "U20", "M8[s]", "m8[s]", "V8")


def check_wrong_types_are_refused(make_survey: MakeSurvey) -> None:
    """Items and words are uint64 arrays: any other type is refused, and never loses the noise without a word."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 3)
    words = SeededWords(2).draw(3, mechanism.words_per_report)
    tally = run_protocol(mechanism, items, words, survey.survey_id)
    wrong: list[tuple[str, object, object]] = []
    for name in _WRONG_TYPES:
        dtype = np.dtype(name)
        wrong.append((name, np.zeros(items.shape, dtype), np.zeros(words.shape, dtype)))
        if dtype.kind in "iufcO":  # the same numbers, or as near as the type comes to them
            with np.errstate(all="ignore"):
                wrong.append((name, items.astype(dtype), words.astype(dtype)))
    wrong.append(("list", items.tolist(), words.tolist()))
    for name, other_items, other_words in wrong:
        _assert_refused(f"words of type {name}", mechanism.randomize, items, other_words)
        _assert_refused(f"items of type {name}", mechanism.randomize, other_items, words)
        _assert_refused(f"items to count of type {name}", mechanism.estimate, tally, other_items)
        _assert_refused(f"a crowd of type {name}", Histogram, other_items, np.ones(3, np.int64))


def check_layouts_agree(make_survey: MakeSurvey) -> None:
    """How items and words lie in memory changes no byte of a report and no count."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 6)
    words = SeededWords(12).draw(6, mechanism.words_per_report)
    expected = mechanism.randomize(items, words).tobytes()
    tally = run_protocol(mechanism, items, words, survey.survey_id)
    counts = mechanism.estimate(tally, items).counts
    for layout in (np.asfortranarray, _spread_out, _turned, _unaligned):
        other_items, other_words = layout(items), layout(words)
        assert np.array_equal(other_items, items)
        assert mechanism.randomize(other_items, words).tobytes() == expected, layout.__name__
        assert mechanism.randomize(items, other_words).tobytes() == expected, layout.__name__
        assert np.array_equal(mechanism.estimate(tally, other_items).counts, counts), layout.__name__


def _spread_out(array: np.ndarray) -> np.ndarray:
    wide = np.full((2 * array.shape[0], 3 * array.shape[1]), 7, array.dtype)
    wide[::2, ::3] = array
    return wide[::2, ::3]


def _turned(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]


def _unaligned(array: np.ndarray) -> np.ndarray:
    """Not writable either."""
    return np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)


def check_items_outside_are_refused(make_survey: MakeSurvey) -> None:
    """An item that is not below the domain's size is refused by a sentence that does not quote it."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 3)
    words = SeededWords(2).draw(3, mechanism.words_per_report)
    tally = run_protocol(mechanism, items, words, survey.survey_id)
    width = 8 * survey.domain.item_words
    for beyond in (survey.domain.size, 2 ** (8 * width - 1), 2 ** (8 * width) - 1):
        if not survey.domain.size <= beyond < 2 ** (8 * width):
            continue
        outside = items.copy()
        outside[1] = np.frombuffer(beyond.to_bytes(width, "little"), "<u8")
        crowd = Histogram(outside, np.ones(3, np.int64))
        calls: list[tuple[Callable[..., object], object, object]] = [
            (mechanism.randomize, outside, words),
            (mechanism.estimate, tally, outside),
        ]
        calls.append((mechanism.sample_tally, crowd, np.random.default_rng(1)))
        for call, *arguments in calls:
            message = _assert_refused("an item outside the domain", call, *arguments)
            assert beyond == survey.domain.size or str(beyond) not in message, "an item must not be quoted"
    _assert_refused("an item of too few words", mechanism.randomize, items[:, 1:], words)


def check_smallest_level(make_survey: MakeSurvey) -> None:
    """Discovery answers at the smallest level a query may have, divided as it may be, and finds no more than usual."""
    survey = make_survey(public_seed(4))
    mechanism = mechanism_for(survey)
    items = crowd_items(survey, [5, 180, 5])
    words = SeededWords(8).draw(len(items), mechanism.words_per_report)
    tally = run_protocol(mechanism, items, words, survey.survey_id)
    usual, least = (mechanism.discover(tally, query) for query in (Query(), Query(level=MIN_LEVEL).split(4)))
    assert least.detection_limit > 0  # infinite, where nobody could be found
    assert len(least) <= len(usual)


def check_words_are_all_used(make_survey: MakeSurvey) -> None:
    """Zeroing the words after the id changes reports: the noise is really drawn from them."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 4).repeat(50, axis=0)
    words = SeededWords(3).draw(200, mechanism.words_per_report)
    silent = words.copy()
    silent[:, 2:] = 0
    assert mechanism.randomize(items, words).tobytes() != mechanism.randomize(items, silent).tobytes()


def check_wire_round_trip(make_survey: MakeSurvey) -> None:
    """Reports survive the wire, and a byte too many or too few does not."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 4)
    reports = mechanism.randomize(items, SeededWords(4).draw(4, mechanism.words_per_report))
    sent = encode_batch(survey.survey_id, reports)
    received = parse_batch(sent, survey.survey_id, mechanism.report_dtype)
    assert received.tobytes() == reports.tobytes()
    assert mechanism.validate(received).all()
    for wrong in (sent[:-1], sent + b"\0"):
        try:
            parse_batch(wrong, survey.survey_id, mechanism.report_dtype)
        except LeftOverBytes:
            continue
        raise AssertionError("a batch that is not whole reports must be refused")


def check_merge_equals_whole(make_survey: MakeSurvey) -> None:
    """Any split of the reports, merged in any order, gives the tally of the whole, bit for bit."""
    survey = make_survey(public_seed(2))
    mechanism = mechanism_for(survey)
    items = crowd_items(survey, [7, 5, 1])
    words = SeededWords(5).draw(13, mechanism.words_per_report)
    whole = run_protocol(mechanism, items, words, survey.survey_id)
    for cut in (0, 1, 6, 13):
        first = run_protocol(mechanism, items[:cut], words[:cut], survey.survey_id)
        second = run_protocol(mechanism, items[cut:], words[cut:], survey.survey_id)
        assert first + second == whole
        assert second + first == whole
    assert whole.count == 13


def check_rejects_garbage(make_survey: MakeSurvey) -> None:
    """A payload no honest client can send is not valid, whatever its id."""
    survey = make_survey(public_seed(1))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 2)
    good = mechanism.randomize(items, SeededWords(6).draw(2, mechanism.words_per_report))
    bad = good.copy()
    payload = bad.view(np.uint8).reshape(2, -1)
    payload[:, 16:] = 0x7F  # the largest positive number of any width, and not a bit
    assert mechanism.validate(good).all()
    assert not mechanism.validate(bad).any()


def check_pickles(make_survey: MakeSurvey) -> None:
    """A mechanism goes to another process and behaves the same there."""
    survey = make_survey(public_seed(3))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 3)
    words = SeededWords(7).draw(3, mechanism.words_per_report)
    again = pickle.loads(pickle.dumps(mechanism))  # noqa: S301  # our own bytes
    assert again.randomize(items, words).tobytes() == mechanism.randomize(items, words).tobytes()


def check_survey_round_trip(make_survey: MakeSurvey) -> None:
    """The survey's canonical bytes load into an equal survey with the same guarantee."""
    survey = make_survey(public_seed(3))
    loaded = load_survey(survey.to_json())
    assert loaded == survey
    assert loaded.survey_id == survey.survey_id
    assert mechanism_for(loaded).guarantee == mechanism_for(survey).guarantee


def check_guarantee_is_within_claim(make_survey: MakeSurvey) -> None:
    """What the thresholds guarantee is no weaker than what the survey states, and not idly stronger in epsilon."""
    survey = make_survey(public_seed(1))
    guarantee = mechanism_for(survey).guarantee
    assert guarantee.within(survey.stated)
    assert guarantee.epsilon > survey.epsilon * 999 / 1000


def _estimate_errors(make_survey: MakeSurvey) -> tuple[np.ndarray, np.ndarray]:
    """Errors and normalised errors of a large, a middling and an absent value, over words and public seeds."""
    errors, normalised = [], []
    true = np.array([30.0, 20.0, 0.0])
    for run in range(_RUNS):
        survey = make_survey(public_seed(1000 + run))
        mechanism = mechanism_for(survey)
        items = crowd_items(survey, [30, 20, 0, 6, 4])
        words = SeededWords(1000 + run).draw(len(items), mechanism.words_per_report)
        tally = run_protocol(mechanism, items, words, survey.survey_id)
        estimates = mechanism.estimate(tally, some_items(mechanism, survey, 5)[:3])
        errors.append(estimates.counts - true)
        normalised.append(errors[-1] / estimates.stderrs)
    return np.array(errors), np.array(normalised)


def check_unbiased_with_honest_stderr(make_survey: MakeSurvey) -> None:
    """Over words and public seed, estimates are right on average and as far off as their standard errors say."""
    errors, normalised = _estimate_errors(make_survey)
    for column in range(errors.shape[1]):
        assert_mean_zero(errors[:, column])
    assert_unit_spread(normalised.ravel())


def check_finds_planted(make_survey: MakeSurvey) -> None:
    """A value held by most people is discovered, first, within its interval of six standard errors."""
    survey = make_survey(public_seed(4))
    mechanism = mechanism_for(survey)
    items = crowd_items(survey, [500, 18_000, 500, 500, 500])
    tally = Tally(survey.survey_id, 0, np.zeros(mechanism.cells_shape, np.int64))
    source = SeededWords(8)
    for start in range(0, len(items), 500):
        part = items[start : start + 500]
        tally = tally + run_protocol(
            mechanism, part, source.draw(len(part), mechanism.words_per_report), survey.survey_id
        )
    found = mechanism.discover(tally, Query(top=3))
    assert len(found)
    assert np.array_equal(found.items[0], some_items(mechanism, survey, 5)[1])
    assert abs(found.counts[0] - 18_000) <= 6 * found.stderrs[0]
    assert found.counts[0] > found.threshold > 0
    assert math.isfinite(found.detection_limit)


def check_nothing_to_find(make_survey: MakeSurvey) -> None:
    """A crowd too small to see gives no item, and no crash; so does an empty tally with a guess allowed."""
    survey = make_survey(public_seed(5))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, 2)
    tally = run_protocol(mechanism, items, SeededWords(9).draw(2, mechanism.words_per_report), survey.survey_id)
    assert len(mechanism.discover(tally, Query())) == 0
    assert len(mechanism.discover(tally, Query(top=1, best_guess=True))) <= 1


def check_sampler_has_the_law(make_survey: MakeSurvey) -> None:
    """Where tallies are sampled at once, their cells have the law of the per-person path, singly and together."""
    survey = make_survey(public_seed(6))
    mechanism = mechanism_for(survey)
    if not mechanism.samples_at_once:
        return
    counts = [9, 5, 2, 1]
    items = crowd_items(survey, counts)
    crowd = Histogram(some_items(mechanism, survey, 4), np.array(counts, np.int64))
    rng, source = np.random.default_rng(10), SeededWords(11)
    cells = int(np.prod(mechanism.cells_shape))
    # Single cells, and a random direction, which sees how cells move together.
    directions = np.concatenate([np.eye(cells)[[0, cells // 2]], rng.normal(size=(1, cells))])
    sampled, real = [], []
    for _ in range(400):
        drawn = mechanism.sample_tally(crowd, rng)
        assert drawn.count == len(items)
        words = source.draw(len(items), mechanism.words_per_report)
        sampled.append(directions @ drawn.cells.ravel())
        real.append(directions @ run_protocol(mechanism, items, words, survey.survey_id).cells.ravel())
    for first, second in zip(np.array(sampled).T, np.array(real).T, strict=True):
        assert_same_law(first, second)


CHECKS: tuple[Callable[[MakeSurvey], None], ...] = (
    check_report_is_pure,
    check_sizes_are_fixed,
    check_wrong_types_are_refused,
    check_layouts_agree,
    check_items_outside_are_refused,
    check_words_are_all_used,
    check_wire_round_trip,
    check_merge_equals_whole,
    check_rejects_garbage,
    check_pickles,
    check_survey_round_trip,
    check_guarantee_is_within_claim,
    check_unbiased_with_honest_stderr,
    check_finds_planted,
    check_nothing_to_find,
    check_smallest_level,
    check_sampler_has_the_law,
)


def check_mechanism(make_survey: MakeSurvey) -> None:
    """Every check, on the mechanism of the surveys that `make_survey` makes."""
    for check in CHECKS:
        check(make_survey)
