"""Checks of what every mechanism promises, for anybody to run.

`check_mechanism(make_survey)` runs all of CHECKS. Statistical checks use fixed seeds, so that their results do not
change; with random seeds each would raise a false alarm with a chance of at most 10⁻⁹.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hubbub.errors import LeftOverBytes, ParameterError
from hubbub.mechanisms.registry import load_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.estimates import MIN_LEVEL, Query
from hubbub.model.mechanism import Histogram, Items, Mechanism, tally_of
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import SeededRandomWords
from hubbub.testing.assertions import assert_mean_zero, assert_same_law, assert_unit_spread
from hubbub.wire.report_batch import encode_batch, parse_batch

_RUNS = 300

MakeSurvey = Callable[[bytes], Survey]
"""Makes a survey with the mechanism under test from a public seed."""


def public_seed(number: int) -> bytes:
    """A public seed for tests."""
    return number.to_bytes(32, "little")


def some_items(mechanism: Mechanism, survey: Survey, count: int) -> Items:
    """Items spread over the whole universe, the first and the last included."""
    del mechanism
    indices = [survey.domain.size * k // max(count - 1, 1) - (k == count - 1) for k in range(count)]
    width = 8 * survey.domain.item_limbs
    return np.frombuffer(b"".join(i.to_bytes(width, "little") for i in indices), "<u8").reshape(count, -1)


def crowd_items(survey: Survey, counts: list[int]) -> Items:
    """One row per person: counts[k] people hold the k-th of some items."""
    distinct = some_items(mechanism_for(survey), survey, len(counts))
    return np.repeat(distinct, counts, axis=0)


class _Case(NamedTuple):
    """A survey with the reports that a check is about."""

    survey: Survey
    mechanism: SurveyMechanism
    items: Items
    random_words: Items

    @property
    def tally(self) -> Tally:
        """The tally of all reports."""
        return tally_of(self.mechanism, self.items, self.random_words)


def _case(make_survey: MakeSurvey, people: int | list[int], seed: int = 2, number: int = 1) -> _Case:
    """A survey with the public seed `number`, and people with items: each another, or people[k] with the k-th item."""
    survey = make_survey(public_seed(number))
    mechanism = mechanism_for(survey)
    items = some_items(mechanism, survey, people) if isinstance(people, int) else crowd_items(survey, people)
    return _Case(survey, mechanism, items, SeededRandomWords(seed).draw(len(items), mechanism.random_words_per_report))


def check_report_is_pure(make_survey: MakeSurvey) -> None:
    """The same item and random words give the same bytes; inputs do not change; the id is the first two words."""
    survey, mechanism, items, random_words = _case(make_survey, 5, seed=1)
    kept = items.copy(), random_words.copy()
    first = mechanism.randomize(items, random_words)
    assert first.tobytes() == mechanism_for(survey).randomize(items, random_words).tobytes()
    assert np.array_equal(items, kept[0])
    assert np.array_equal(random_words, kept[1])
    assert np.array_equal(first["id"], random_words[:, :2])


def check_sizes_are_fixed(make_survey: MakeSurvey) -> None:
    """A report's size and its number of random words depend on the survey alone, and other shapes are refused."""
    _, mechanism, items, random_words = _case(make_survey, 3)
    sizes = {len(mechanism.randomize(items[k : k + 1], random_words[k : k + 1]).tobytes()) for k in range(3)}
    assert sizes == {mechanism.report_dtype.itemsize}
    assert mechanism.report_dtype.names is not None
    assert mechanism.report_dtype.names[0] == "id"
    for wrong in (random_words[:, :-1], random_words[:2]):
        _assert_refused("random words of the wrong shape", mechanism.randomize, items, wrong)


def _assert_refused(what: str, call: Callable[..., object], *arguments: object) -> str:
    """Assert that `call(*arguments)` raises ParameterError, and return the message."""
    try:
        call(*arguments)
    except ParameterError as error:
        return str(error)
    raise AssertionError(f"{what} must be refused")


_WRONG_TYPES = (*"?bhiqBHIefdgFDGO", ">u8", "S20", "U20", "M8[s]", "m8[s]", "V8")


def check_wrong_types_are_refused(make_survey: MakeSurvey) -> None:
    """Items and random words are uint64 arrays: any other type is refused, since a conversion could lose the noise."""
    case = _case(make_survey, 3)
    (_, mechanism, items, random_words), tally = case, case.tally
    wrong: list[tuple[str, object, object]] = []
    for name in _WRONG_TYPES:
        dtype = np.dtype(name)
        wrong.append((name, np.zeros(items.shape, dtype), np.zeros(random_words.shape, dtype)))
        if dtype.kind in "iufcO":  # the same numbers, or as near as the type comes to them
            with np.errstate(all="ignore"):
                wrong.append((name, items.astype(dtype), random_words.astype(dtype)))
    wrong.append(("list", items.tolist(), random_words.tolist()))
    for name, other_items, other_random_words in wrong:
        _assert_refused(f"random words of type {name}", mechanism.randomize, items, other_random_words)
        _assert_refused(f"items of type {name}", mechanism.randomize, other_items, random_words)
        _assert_refused(f"items to count of type {name}", mechanism.estimate, tally, other_items)
        _assert_refused(f"a crowd of type {name}", Histogram, other_items, np.ones(3, np.int64))


def check_layouts_agree(make_survey: MakeSurvey) -> None:
    """The memory layout of items and random words changes no byte of a report and no count."""
    case = _case(make_survey, 6, seed=12)
    (_, mechanism, items, random_words), tally = case, case.tally
    expected = mechanism.randomize(items, random_words).tobytes()
    counts = mechanism.estimate(tally, items).counts
    for layout in (np.asfortranarray, _spread_out, _turned, _unaligned):
        other_items, other_random_words = layout(items), layout(random_words)
        assert np.array_equal(other_items, items)
        assert mechanism.randomize(other_items, random_words).tobytes() == expected, layout.__name__
        assert mechanism.randomize(items, other_random_words).tobytes() == expected, layout.__name__
        assert np.array_equal(mechanism.estimate(tally, other_items).counts, counts), layout.__name__


def _spread_out(array: np.ndarray) -> np.ndarray:
    wide = np.full((2 * array.shape[0], 3 * array.shape[1]), 7, array.dtype)
    wide[::2, ::3] = array
    return wide[::2, ::3]


def _turned(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]


def _unaligned(array: np.ndarray) -> np.ndarray:
    """A copy that is neither aligned nor writable."""
    return np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)


def check_items_outside_are_refused(make_survey: MakeSurvey) -> None:
    """An item that is not below the domain's size is refused with a message that does not quote it."""
    case = _case(make_survey, 3)
    (survey, mechanism, items, random_words), tally = case, case.tally
    width = 8 * survey.domain.item_limbs
    for beyond in (survey.domain.size, 2 ** (8 * width - 1), 2 ** (8 * width) - 1):
        if not survey.domain.size <= beyond < 2 ** (8 * width):
            continue
        outside = items.copy()
        outside[1] = np.frombuffer(beyond.to_bytes(width, "little"), "<u8")
        crowd = Histogram(outside, np.ones(3, np.int64))
        calls: list[tuple[Callable[..., object], object, object]] = [
            (mechanism.randomize, outside, random_words),
            (mechanism.estimate, tally, outside),
        ]
        calls.append((mechanism.sample_tally, crowd, np.random.default_rng(1)))
        for call, *arguments in calls:
            message = _assert_refused("an item outside the domain", call, *arguments)
            assert beyond == survey.domain.size or str(beyond) not in message, "an item must not be quoted"
    _assert_refused("an item of too few limbs", mechanism.randomize, items[:, 1:], random_words)


def check_smallest_level(make_survey: MakeSurvey) -> None:
    """Discovery works at the smallest level that a query may have, even split, and finds no more than usual."""
    case = _case(make_survey, [5, 180, 5], seed=8, number=4)
    mechanism, tally = case.mechanism, case.tally
    usual, least = (mechanism.discover(tally, query) for query in (Query(), Query(level=MIN_LEVEL).split(4)))
    assert least.detection_limit > 0  # infinite, where nobody could be found
    assert len(least) <= len(usual)


def check_words_are_all_used(make_survey: MakeSurvey) -> None:
    """Zeroing the random words after the id changes reports: the noise is really drawn from them."""
    _, mechanism, items, random_words = _case(make_survey, [50] * 4, seed=3)
    silent = random_words.copy()
    silent[:, 2:] = 0
    assert mechanism.randomize(items, random_words).tobytes() != mechanism.randomize(items, silent).tobytes()


def check_wire_round_trip(make_survey: MakeSurvey) -> None:
    """Reports survive the wire, and a byte too many or too few does not."""
    survey, mechanism, items, random_words = _case(make_survey, 4, seed=4)
    reports = mechanism.randomize(items, random_words)
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
    case = _case(make_survey, [7, 5, 1], seed=5, number=2)
    (_, mechanism, items, random_words), whole = case, case.tally
    for cut in (0, 1, 6, 13):
        first = tally_of(mechanism, items[:cut], random_words[:cut])
        second = tally_of(mechanism, items[cut:], random_words[cut:])
        assert first + second == whole
        assert second + first == whole
    assert whole.count == 13


def check_rejects_garbage(make_survey: MakeSurvey) -> None:
    """A payload that no honest client can send is invalid with any id."""
    _, mechanism, items, random_words = _case(make_survey, 2, seed=6)
    good = mechanism.randomize(items, random_words)
    bad = good.copy()
    payload = bad.view(np.uint8).reshape(2, -1)
    payload[:, 16:] = 0x7F  # the largest positive number of any width, and not a bit
    assert mechanism.validate(good).all()
    assert not mechanism.validate(bad).any()


def check_pickles(make_survey: MakeSurvey) -> None:
    """A mechanism that was pickled, as for another process, makes the same reports."""
    _, mechanism, items, random_words = _case(make_survey, 3, seed=7, number=3)
    again = pickle.loads(pickle.dumps(mechanism))  # noqa: S301  # our own bytes
    assert again.randomize(items, random_words).tobytes() == mechanism.randomize(items, random_words).tobytes()


def check_survey_round_trip(make_survey: MakeSurvey) -> None:
    """The survey's canonical bytes load into an equal survey with the same guarantee."""
    survey = make_survey(public_seed(3))
    loaded = load_survey(survey.to_json())
    assert loaded == survey
    assert loaded.survey_id == survey.survey_id
    assert mechanism_for(loaded).guarantee == mechanism_for(survey).guarantee


def check_guarantee_is_within_claim(make_survey: MakeSurvey) -> None:
    """The thresholds guarantee at least the privacy that the survey states, with an ε at most 0.1 % smaller."""
    survey = make_survey(public_seed(1))
    guarantee = mechanism_for(survey).guarantee
    assert guarantee.epsilon <= survey.epsilon
    assert guarantee.delta <= survey.delta
    assert guarantee.epsilon > survey.epsilon * 999 / 1000


def _estimate_errors(make_survey: MakeSurvey) -> tuple[np.ndarray, np.ndarray]:
    """Errors, in people and in standard errors, of a large, a medium and an absent value: one row for each run."""
    errors, normalised = [], []
    true = np.array([30.0, 20.0, 0.0])
    for run in range(_RUNS):
        case = _case(make_survey, [30, 20, 0, 6, 4], seed=1000 + run, number=1000 + run)
        estimates = case.mechanism.estimate(case.tally, some_items(case.mechanism, case.survey, 5)[:3])
        errors.append(estimates.counts - true)
        normalised.append(errors[-1] / estimates.stderrs)
    return np.array(errors), np.array(normalised)


def check_unbiased_with_honest_stderr(make_survey: MakeSurvey) -> None:
    """Over random words and public seeds, estimates are unbiased and err by about their standard errors."""
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
    source = SeededRandomWords(8)
    for start in range(0, len(items), 500):
        part = items[start : start + 500]
        tally = tally + tally_of(mechanism, part, source.draw(len(part), mechanism.random_words_per_report))
    found = mechanism.discover(tally, Query(top=3))
    assert len(found)
    assert np.array_equal(found.items[0], some_items(mechanism, survey, 5)[1])
    assert abs(found.counts[0] - 18_000) <= 6 * found.stderrs[0]
    assert found.counts[0] > found.threshold > 0
    assert math.isfinite(found.detection_limit)


def check_nothing_to_find(make_survey: MakeSurvey) -> None:
    """In a crowd that is too small nothing is found, and nothing fails; with a guess allowed, at most one item is."""
    case = _case(make_survey, 2, seed=9, number=5)
    mechanism, tally = case.mechanism, case.tally
    assert len(mechanism.discover(tally, Query())) == 0
    assert len(mechanism.discover(tally, Query(top=1, best_guess=True))) <= 1


def check_sampler_has_the_law(make_survey: MakeSurvey) -> None:
    """Tallies that are sampled for a whole crowd have the law of tallies of reports, in single cells and jointly."""
    survey = make_survey(public_seed(6))
    mechanism = mechanism_for(survey)
    if not mechanism.samples_at_once:
        return
    counts = [9, 5, 2, 1]
    items = crowd_items(survey, counts)
    crowd = Histogram(some_items(mechanism, survey, 4), np.array(counts, np.int64))
    rng, source = np.random.default_rng(10), SeededRandomWords(11)
    cells = int(np.prod(mechanism.cells_shape))
    # Single cells, and a random direction, which sees how cells move together.
    directions = np.concatenate([np.eye(cells)[[0, cells // 2]], rng.normal(size=(1, cells))])
    sampled, real = [], []
    for _ in range(400):
        drawn = mechanism.sample_tally(crowd, rng)
        assert drawn.count == len(items)
        random_words = source.draw(len(items), mechanism.random_words_per_report)
        sampled.append(directions @ drawn.cells.ravel())
        real.append(directions @ tally_of(mechanism, items, random_words).cells.ravel())
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
    """Run all checks on the mechanism of the surveys that `make_survey` makes."""
    for check in CHECKS:
        check(make_survey)
