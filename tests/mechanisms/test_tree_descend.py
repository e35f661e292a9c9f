"""The descent: kernels against the specification and its twins, what lists let go, and threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import naive

from hubbub import Histogram, Hostnames, Integers, create_survey, mechanism_for
from hubbub.mechanisms.tree import kernels, spec
from hubbub.mechanisms.tree.code import PathCode
from hubbub.mechanisms.tree.descend import Descent
from hubbub.mechanisms.tree.gates import InBeam, InList
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.shape import BitClass, Shape
from hubbub.model.estimates import Query
from hubbub.numeric import threads
from hubbub.numeric.hashing import Purpose, derive_key
from hubbub.testing import public_seed

SEED = bytes(range(32))
KIND = BitClass((10, 4, 0, 5, 5))
SHAPE = Shape(10, tuple((1 << 24) * end // 7 for end in range(1, 8)), (KIND,))
CODE = PathCode(Integers(24), SHAPE, SEED)
LAW = MatchLaw(1 << 62, 2, 10, 7)
MANY = 1e12  # reports, of which no score is a share that says anything


def said_by(seed: int, scale: int = 1) -> np.ndarray:
    """What every row says of every bucket. Whole numbers, so that sums are exact and many scores are equal."""
    return scale * np.random.default_rng(seed).integers(-9, 10, (SHAPE.rows, 1 << 10)).astype(np.float32)


def odds(pull: float = 0.0, cost: float = 0.0, people: float = MANY, log_mass: float = 0.0) -> kernels.Odds:
    """The odds of the law, with as many people at each step."""
    reports = people * (1 + np.arange(len(KIND.steps)))
    return kernels.Odds(LAW.absent, LAW.true, LAW.per_match, reports, pull, cost, log_mass)


def limbs_of(paths: np.ndarray) -> np.ndarray:
    """Paths of 24 bits, as kernels have them."""
    return (paths.astype(np.uint64) << np.uint64(40))[:, np.newaxis]


def spoken(estimates: np.ndarray, caps: np.ndarray) -> spec.Said:
    """What a row says of paths of its depth, for the specification."""

    def said(row: int, paths: np.ndarray) -> np.ndarray:
        depth = KIND.depths[KIND.step_of(row)]
        buckets = CODE.path_buckets(0, limbs_of(paths << (24 - depth)))
        return np.minimum(estimates[row, buckets[:, row]], caps[row]).astype(np.float64)

    return said


def from_the_top(estimates: np.ndarray, caps: np.ndarray, width: int, quota: int, how: kernels.Odds):
    """A beam."""
    widths, nothing = np.full(len(KIND.steps), width, np.int64), np.zeros((1, 1), np.uint64)
    return kernels.descend(
        CODE.kernel_rows[0], estimates, caps, how, widths, quota, 0, nothing, np.zeros(1, np.float32)
    )


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("width", [1, 7, 100, 1000])
def test_a_beam_is_that_of_the_specification(width: int, capped: bool) -> None:
    """Path by path and score by score, also of equal ones: with so few children the edge is not guessed."""
    estimates = said_by(width)
    caps = np.array([4, 2, 5, 3, 6, 2, 4] if capped else [np.inf] * 7, np.float32)
    paths, scores, let_go = from_the_top(estimates, caps, width, 1 << 20, odds())
    expected, theirs = spec.descend(KIND, SHAPE.rows, spoken(estimates, caps), width)
    assert np.array_equal(paths, limbs_of(expected))
    assert np.array_equal(scores, theirs)
    assert let_go == -np.inf


def test_a_wide_beam_is_nearly_that_of_the_specification() -> None:
    """Where the edge of a step is guessed from a sample, the best are all there, and a few are missing at the edge."""
    estimates, caps, width = said_by(5), np.full(7, np.inf, np.float32), 6_000
    paths, scores, _ = from_the_top(estimates, caps, width, 1 << 20, odds())
    expected, theirs = spec.descend(KIND, SHAPE.rows, spoken(estimates, caps), width)
    assert width - width // 8 <= len(paths) <= width
    best = theirs > np.sort(theirs)[-width // 8]
    expected = dict(zip(limbs_of(expected)[best, 0].tolist(), theirs[best].tolist(), strict=True))
    assert len(expected) > 500
    assert dict(zip(paths[:, 0].tolist(), scores.tolist(), strict=True)).items() >= expected.items()


@pytest.mark.parametrize("width", [1, 6, 32, 1 << 14])
@pytest.mark.parametrize("root", [0, 1023])
def test_a_list_is_that_of_the_specification_and_of_the_twin(root: int, width: int) -> None:
    """Paths, scores, and the log-weight of everything that left on the way, each counted where it left."""
    estimates, caps = said_by(root), np.array([6, 5, 3, 6, 4, 5, 3], np.float32)
    said, start = spoken(estimates, caps), np.array([root])
    how = odds(pull=0.7, cost=1e-13, log_mass=-0.4)
    paths, scores, let_go = kernels.descend(
        CODE.kernel_rows[0],
        estimates,
        caps,
        how,
        np.full(len(KIND.steps), width, np.int64),
        width,
        1,
        limbs_of(start << 14),
        said(0, start).astype(np.float32),
    )
    expected, theirs = spec.descend(KIND, SHAPE.rows, said, width, start)
    assert np.array_equal(paths, limbs_of(expected))
    assert np.array_equal(scores, theirs)
    key = derive_key(SEED, Purpose.TREE_BUCKET)
    raw, digits = key.low.to_bytes(4, "little") + key.high.to_bytes(4, "little"), SHAPE.to_parameters()["steps"][0]

    def rows_say(step: int, path: str) -> list[float]:
        found = []
        for row in KIND.rows(step, SHAPE.rows):
            bucket = naive.tree_bucket(raw, path.ljust(24, "0"), row, digits, 10)
            found.append(min(float(estimates[row, bucket]), float(caps[row])))
        return found

    if width == 1 << 14:  # all of them
        assert let_go == -np.inf
        return
    kept, left = naive.tree_list(KIND.steps, rows_say, width, f"{root:010b}")
    assert {int(path, 2): score for path, score in kept.items()} == dict(
        zip(expected.tolist(), theirs.tolist(), strict=True)
    )
    reports = {depth: how.people[KIND.depths.index(depth, 1)] for depth in KIND.depths[1:]}
    weights = [how.pull * s - how.cost * reports[depth] - depth * math.log(2) + how.log_mass for depth, s in left]
    assert let_go == pytest.approx(np.logaddexp.reduce(weights), abs=1e-6)


@pytest.mark.parametrize(
    ("width", "quota", "scale"),
    [(50, 5, 1), (50, 64, 1), (400, 1, 1), (400, 5, 1), (400, 64, 1), (4096, 5, 40), (4096, 64, 40)],
)
def test_a_beam_gives_each_root_its_part(width: int, quota: int, scale: int) -> None:
    """Of the children of each root only the likely ones and the best few stay; of these the best fill the beam.

    It may be an eighth less than full. Large scores leave some children unlikely beside the best of their root.
    """
    kind = BitClass((6, 6))
    shape = Shape(10, (1 << 23, 1 << 24), (kind,))
    code, estimates, caps = PathCode(Integers(12), shape, SEED), said_by(quota, scale)[:2], np.full(2, np.inf)
    reports = np.array([500.0, 1000.0])
    how = kernels.Odds(LAW.absent, LAW.true, LAW.per_match, reports, 0.0, 0.0, 0.0)
    paths, scores, _ = kernels.descend(
        code.kernel_rows[0],
        estimates,
        caps.astype(np.float32),
        how,
        np.array([64, width]),
        quota,
        0,
        np.zeros((1, 1), np.uint64),
        np.zeros(1, np.float32),
    )
    everything = np.arange(1 << 12, dtype=np.uint64)[:, np.newaxis] << np.uint64(52)
    buckets = code.path_buckets(0, everything)
    counts = (estimates[0, buckets[:, 0]] + estimates[1, buckets[:, 1]]).tolist()
    children = [(number >> 6, count) for number, count in enumerate(counts)]

    def least(best: float) -> float:
        pull = LAW.odds(np.array([best / 1000.0]))[0][0]
        # The last step has half of the reports, and can make up for its share of the best.
        behind = 40.0 / pull + min(max(best / 1000.0, 0.0), 1.0) * 500.0 if pull > 0 else math.inf
        return float(np.float32(best - behind))

    stay = naive.thinned(children, quota, least)
    got = (paths[:, 0] >> np.uint64(52)).astype(int).tolist()
    assert scores.tolist() == [counts[number] for number in got]
    assert min(len(stay), width) - width // 8 <= len(got) <= width
    assert got == sorted(sorted(stay, key=lambda number: -counts[number])[: len(got)])
    ruled_out = len(naive.thinned(children, 64, least)) < len(children)
    assert ruled_out == (scale > 1)


def test_a_root_with_few_paths_keeps_all() -> None:
    """Eight at most, however unlikely beside the best: they take little room."""
    kind = BitClass((6, 3))
    code = PathCode(Integers(9), Shape(10, (1 << 23, 1 << 24), (kind,)), SEED)
    how = kernels.Odds(LAW.absent, LAW.true, LAW.per_match, np.array([500.0, 1000.0]), 0.0, 0.0, 0.0)
    paths, _, _ = kernels.descend(
        code.kernel_rows[0],
        said_by(1, 40)[:2],
        np.full(2, np.inf, np.float32),
        how,
        np.array([64, 512]),
        64,
        0,
        np.zeros((1, 1), np.uint64),
        np.zeros(1, np.float32),
    )
    assert (paths[:, 0] >> np.uint64(55)).tolist() == list(range(512))


@settings(max_examples=25)
@given(
    st.lists(
        st.one_of(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, 1e30, -1e30]), st.floats(width=32, allow_nan=False)),
        min_size=64,
        max_size=64,
    ),
    st.integers(1, 64),
)
def test_the_best_are_found_among_any_scores(said: list[float], width: int) -> None:
    """Also of scores that are equal, tiny, huge or infinite, the highest are kept."""
    kind = BitClass((6,))
    code = PathCode(Integers(6), Shape(6, (1 << 24,), (kind,)), SEED)
    estimates = np.array([said], np.float32)
    paths, scores, _ = kernels.descend(
        code.kernel_rows[0],
        estimates,
        np.full(1, np.inf, np.float32),
        odds(),
        np.array([width]),
        64,
        0,
        np.zeros((1, 1), np.uint64),
        np.zeros(1, np.float32),
    )
    assert sorted(scores.tolist()) == sorted(estimates[0].tolist())[64 - width :]
    assert (np.diff(paths[:, 0]) > 0).all()
    buckets = code.path_buckets(0, paths)[:, 0]
    assert np.array_equal(estimates[0, buckets], scores)


def test_both_policies_have_the_widths_of_their_gates() -> None:
    """A beam begins with nothing; the list of a path begins with its root, and is sorted, the best first."""
    estimates = said_by(3)
    row_counts = RowCounts(estimates, np.full(7, 50.0), LAW.noise)
    descent, open_caps = Descent(CODE, LAW, row_counts, InBeam(None, 10)), np.full(7, np.inf)
    front = descent.beam(0, open_caps)
    assert front.number == 0
    assert len(front.paths) <= InBeam(None, 10).widths(KIND)[-1]
    best = front.paths[np.argmax(front.scores)]
    pull, cost = (float(part[0]) for part in LAW.odds(np.array([front.scores.max() / 350])))
    listed = descent.list_of(0, best, open_caps, pull, cost)
    assert (listed.paths[:, 0] >> np.uint64(54) == best[0] >> np.uint64(54)).all()
    assert (np.diff(listed.scores) <= 0).all()
    assert listed.paths[0].tolist() == best.tolist()
    assert len(listed.paths) == InList().widths(KIND)[-1]
    sums = row_counts.sums(CODE.path_buckets(0, listed.paths))
    assert np.array_equal(listed.scores, sums)


@pytest.fixture(scope="module")
def crowd_of_numbers():
    """A tree of 24 bits, and a sampled crowd with three values that many hold."""
    survey = create_survey("t", Integers(24), 2, None, "tree", {"size": "small"}, 40_000, public_seed=public_seed(5))
    tree = mechanism_for(survey)
    items = np.array([[123_456], [77], [9_999_999]], np.uint64)
    return tree, Histogram(items, np.array([4000, 3000, 2000]), singletons=31_000)


def test_the_specification_finds_what_the_search_finds(crowd_of_numbers) -> None:
    """The same values with the sums of their rows, and one more that rests on a collision."""
    tree, crowd = crowd_of_numbers
    sample = tree.sample(crowd, np.random.default_rng(1))
    found = sample.discover(Query())
    again = tree.sample(crowd, np.random.default_rng(1))
    ((_, _, paths),) = tree.code.classes(crowd.items)
    row_counts = again.discover.args[0]
    kind = tree.shape.classes[0]

    def said(row: int, numbers: np.ndarray) -> np.ndarray:
        depth = kind.depths[kind.step_of(row)]
        buckets = tree.code.path_buckets(0, limbs_of(numbers << (24 - depth)))
        return row_counts.estimates[row, buckets[:, row]].astype(np.float64)

    by_spec = spec.find(kind, row_counts.people, said, tree.law, 0.05, 1 << 12, 1 << 10)
    numbers = (paths[:, 0] >> np.uint64(40)).astype(int).tolist()
    counts = row_counts.sums(tree.code.buckets(crowd.items)).tolist()
    assert sorted(found.items[:, 0].tolist()) == sorted(crowd.items[:, 0].tolist())
    true = dict(zip(numbers, counts, strict=True))
    assert {number: by_spec[number] for number in numbers} == pytest.approx(true)
    # The specification has no guard against collisions: here it takes one for a value, and the search does not.
    assert len(by_spec) == 4


@pytest.mark.slow
@pytest.mark.parametrize("domain", [Integers(32), Hostnames()], ids=["numbers", "hosts"])
def test_any_number_of_cores_finds_the_same(domain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit: counts, errors, doubts and their order."""
    survey = create_survey("t", domain, 4, None, "tree", {"size": "small"}, 20_000, public_seed=public_seed(5))
    tree = mechanism_for(survey)
    values = ["a.example", "news.example.org", "google.com", "wiki.de"] if domain == Hostnames() else [7, 8, 2**31, 99]
    crowd = Histogram(domain.encode(values), np.array([9000, 5000, 4000, 2000]))
    found = []
    for cores in (1, 4):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        found.append(tree.sample(crowd, np.random.default_rng(1)).discover(Query()))
    assert len(found[0].items) == 4
    for name in ("items", "counts", "stderrs", "log_priors", "doubts", "fakes"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name))
    assert found[0].threshold == found[1].threshold
