"""Everything that a caller can be handed can be pickled and copied: results go to other processes and into caches."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import hubbub
from hubbub import errors
from hubbub.model.estimates import Query
from hubbub.simulation.compared import Comparison
from hubbub.simulation.comparison import compare
from hubbub.simulation.experiment import Experiment, Simulated, simulate
from hubbub.simulation.population import zipf

POLL = hubbub.Categories(["tea", "coffee", "milk"])
CROWD = ["tea"] * 2_000 + ["coffee"] * 1_000
SURVEY = hubbub.create_survey("drinks", POLL, 2, public_seed=bytes(32))


def twice() -> hubbub.Answer:
    """An answer about people with two values each."""
    persons = [person for person in range(1_500) for _ in range(2)]
    return hubbub.find(CROWD, 2, POLL, persons=persons, values_per_person=2, seed=1)


def simulated() -> Simulated:
    """A small simulation."""
    return simulate(Experiment("jl", 1_000, lambda rng: zipf(1_000, 1.2, 20, 6, rng), 6))


def compared() -> Comparison:
    """A small comparison."""
    crowd = hubbub.Histogram(np.array([[1], [2]], np.uint64), np.array([60, 40]))
    return compare(hubbub.Integers(4), crowd, ["subset"], [1.0], k=1)


MADE: dict[str, Callable[[], object]] = {
    "Answer, a list": lambda: hubbub.find(CROWD, 2, POLL, seed=1),
    "Answer, hitters of a list": lambda: hubbub.find(CROWD, 2, POLL, hitters_only=True, seed=1),
    "Answer, slots": twice,
    "Answer, a search": lambda: hubbub.find([7] * 900, 4, hubbub.Integers(24), seed=1),
    "Answer, candidates": lambda: hubbub.find([7] * 900, 4, hubbub.Integers(24), candidates=[7, 8], seed=1),
    "Answer, jl": lambda: hubbub.find([7] * 900, 4, hubbub.Integers(6), "jl", seed=1),
    "Answer, nobody": lambda: hubbub.find_hitters(SURVEY, hubbub.Tally(SURVEY.survey_id, 0, np.zeros(4, np.int64))),
    "Answer, post-processed": lambda: hubbub.find(CROWD, 2, POLL, seed=1).post_processed("simplex"),
    "Trend": lambda: hubbub.trend(
        SURVEY, {"2026-10-05": hubbub.Tally(SURVEY.survey_id, 0, np.zeros(4, np.int64))}, hitters_only=True
    ),
    "Plan": lambda: hubbub.plan(POLL, people=500, epsilon=1),
    "Hitter": lambda: hubbub.find(CROWD, 2, POLL, seed=1).hitters[0],
    "Group": lambda: hubbub.Group("Tea", 2, 90.0, 0.9, 20.0, 40.0, 140.0),
    "Guess": lambda: hubbub.Guess("tea", 90.0, 20.0, 160.0, 0.5),
    "Intake": lambda: hubbub.find(CROWD, 2, POLL, seed=1).intake,
    "Question": lambda: hubbub.Question(candidates=["tea"]),
    "Query": Query,
    "Survey": lambda: SURVEY,
    "Tally": lambda: hubbub.Tally(SURVEY.survey_id, 3, np.arange(4)),
    "Tallies": lambda: hubbub.Tallies({"2026-10-05": hubbub.Tally(SURVEY.survey_id, 3, np.arange(4))}),
    "Histogram": lambda: hubbub.Histogram(np.array([[1]], np.uint64), np.array([2])),
    "Estimates": lambda: hubbub.Estimates(np.array([[1]], np.uint64), np.array([2.0]), np.array([1.0])),
    "PrivacyGuarantee": lambda: SURVEY.stated,
    "Categories": lambda: POLL,
    "Integers": lambda: hubbub.Integers(7),
    "Bytes": lambda: hubbub.Bytes(7),
    "IPv4": hubbub.IPv4,
    "Hex": lambda: hubbub.Hex(40),
    "UUIDs": hubbub.UUIDs,
    "Text": hubbub.Text,
    "Hostnames": hubbub.Hostnames,
    "Words": lambda: hubbub.Words("de"),
    "CodedText": lambda: hubbub.CodedText(hubbub.Text().code, "text-1", 64),
    "TextCode": lambda: hubbub.Text().code,
    "Simulated": simulated,
    "Comparison": compared,
}
SECRET = {"BulkRandomWords", "OSRandomWords", "ReplayedRandomWords", "SeededRandomWords"}  # tests/numeric has these
ROLES = {"Domain", "Mechanism"}  # nobody can make one


@cache
def make(name: str) -> object:
    """One of these; it is made once."""
    return MADE[name]()


def figures(thing: object) -> object:
    """What must be the same of the copy: itself where it can be compared, else what it shows."""
    if isinstance(thing, hubbub.Answer):
        return thing, repr(thing), [thing.limit_for(value) for value in ("tea", "milk", "beer", 7)]
    return repr(thing) if isinstance(thing, hubbub.Histogram | hubbub.Estimates | hubbub.Plan) else thing


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))],  # noqa: S301  # our own bytes
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_is_the_same(name: str, again: Callable[[object], object]) -> None:
    """Of every public result, each copy is equal, and an answer's copy knows the limits of values, too."""
    assert figures(again(make(name))) == figures(make(name))


def test_nothing_public_is_left_out() -> None:
    """Every public class is made above, except for roles, errors and sources of randomness."""
    public = {name for name in dir(hubbub) if inspect.isclass(getattr(hubbub, name))}
    failures = {name for name in public if issubclass(getattr(hubbub, name), Exception)}
    assert public - failures - SECRET - ROLES == {name.partition(",")[0] for name in MADE} & public


@pytest.mark.parametrize("name", sorted(name for name, each in vars(errors).items() if inspect.isclass(each)))
def test_an_error_can_be_pickled(name: str) -> None:
    """An error that a worker process raises arrives with its sentence."""
    kind = getattr(errors, name)
    if not issubclass(kind, errors.HubbubError):
        return
    error = kind("must be so, got otherwise")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert (type(back), str(back)) == (kind, str(error))
