"""Mechanisms side by side: figures that can be counted by hand, what is left out, and what is recommended."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hubbub import Histogram, Integers, ParameterError
from hubbub.simulation.compared import Compared, Comparison
from hubbub.simulation.comparison import compare


def crowd(*counts: int) -> Histogram:
    """Values 0, 1, 2, … held by so many."""
    return Histogram(np.arange(len(counts), dtype=np.uint64)[:, np.newaxis], np.array(counts, np.int64))


def row(mechanism: str, f1: float, count_error: float | None, epsilon: float = 1.0) -> Compared:
    """A row of which only some fields matter."""
    return Compared(mechanism, epsilon, 0.0, f1, f1, f1, count_error, None, 17, 8, 1.0, 1.0, 0.1)


def comparison(*rows: Compared) -> Comparison:
    """Of these rows."""
    return Comparison(100, 5, 2, max((len(each.f1_of_runs) for each in rows), default=1), 0, rows, {})


def test_large_values_are_found() -> None:
    """Where two of a few values are held by nearly everybody, both mechanisms find exactly those, to within noise."""
    found = compare(Integers(4), crowd(20_000, 15_000, 5, 5), ["subset", "jl"], [2.0], k=2, runs=2, seed=1)
    assert [each.mechanism for each in found.rows] == ["subset", "jl"]
    for each in found.rows:
        assert (each.recall, each.precision, each.f1) == (1.0, 1.0, 1.0)
        assert 0 < each.count_error < 2_000
        assert each.detection_limit < 5_000
        assert each.report_bytes == 17
    json.dumps(found.to_json(), allow_nan=False)


def test_nothing_found_is_told() -> None:
    """Among too few people nothing is found: no recall, no error to tell, no limit within reach."""
    found = compare(Integers(4), crowd(6, 4), ["subset"], [0.1], k=2, seed=1).rows[0]
    assert (found.recall, found.precision, found.f1) == (0.0, 1.0, 0.0)
    assert (found.count_error, found.detection_limit) == (None, None)


def test_repeatable() -> None:
    """The same seed gives the same figures, but for times."""

    def figures(seed: int) -> list[object]:
        rows = compare(Integers(6), crowd(900, 500, 300, 100), ["subset"], [1.0], k=3, seed=seed).rows
        return [(each.recall, each.count_error) for each in rows]

    assert figures(1) == figures(1) != figures(2)


def test_what_cannot_be_run_is_left_out_with_the_reason() -> None:
    """A mechanism that the domain is too large for is named with its rule; a name that is none is refused."""
    found = compare(Integers(13), crowd(500, 500), ["subset", "jl"], [1.0], k=1, seed=1)
    assert [each.mechanism for each in found.rows] == ["jl"]
    assert found.left_out == {
        "subset": "subset must have a universe of at most 4096 values, got 8192",
    }
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        compare(Integers(4), crowd(500), ["none"], [1.0])
    with pytest.raises(ParameterError, match="at least 1"):
        compare(Integers(4), crowd(500), ["jl"], [1.0], k=0)


def test_the_best_is_recommended() -> None:
    """The best F1 wins; among equals the smaller error."""
    assert comparison(row("a", 0.5, 1.0), row("b", 0.7, 9.0)).recommended == "b"
    assert comparison(row("a", 0.7, 3.0), row("b", 0.705, 9.0)).recommended == "a"
    assert comparison(row("a", 0.7, 3.0), row("b", 0.705, None)).recommended == "a"
    assert comparison().recommended is None
    said = comparison(row("a", 0.7, 3.0), row("b", 0.705, 9.0)).reason
    assert said.startswith("Recommended: a. Its F1 is 0.70 on average over ε, that of b 0.71")
    assert "smallest errors" in said


def runs(mechanism: str, *f1: float, epsilon: float = 1.0) -> Compared:
    """A row of so many runs."""
    mean = sum(f1) / len(f1)
    return replace(row(mechanism, mean, None, epsilon), f1_of_runs=f1)


def test_another_library_can_win() -> None:
    """What measured best is recommended, whoever made it, with the interval of the difference over the runs."""
    found = comparison(runs("tree", 0.72, 0.74, 0.70, 0.76), runs("pure-ldp OUE", 0.77, 0.79, 0.78, 0.78))
    assert (found.recommended, found.second) == ("pure-ldp OUE", "tree")
    # Differences 0.05, 0.05, 0.08, 0.02: mean 0.05, standard deviation 0.02449, t(3) = 3.1824.
    assert found.gap == pytest.approx((0.05, 0.05 - 3.18245 * 0.0122474, 0.05 + 3.18245 * 0.0122474), abs=1e-5)
    assert found.reason == (
        "Recommended: pure-ldp OUE. Its F1 is 0.78 on average over ε, that of tree 0.73. "
        "Over 4 runs the difference is 0.05, between 0.01 and 0.09 with a chance of 95 %."
    )
    unclear = comparison(runs("tree", 0.60, 0.80), runs("pure-ldp OUE", 0.78, 0.78)).reason
    assert unclear.endswith(": they cannot tell the two apart.")
    assert json.loads(json.dumps(found.to_json()))["gap"]["mean"] == pytest.approx(0.05)


def test_one_run_has_no_interval() -> None:
    """Then it is said that the difference may be chance."""
    found = comparison(row("a", 0.5, 1.0), row("b", 0.7, 9.0))
    assert found.gap == (pytest.approx(0.2), None, None)
    assert found.reason.endswith("One run cannot tell whether such a difference is chance: more runs can.")


def test_f1_is_compared_at_the_same_epsilons() -> None:
    """One that was run at a large ε only does not win by that."""
    rows = [row("a", 0.2, None, 0.5), row("a", 0.9, None, 4.0), row("b", 0.8, None, 4.0)]
    assert comparison(*rows).recommended == "a"


def test_where_nothing_is_found_nothing_is_recommended() -> None:
    """Errors of values that are not to be found recommend nothing, and nor does the order of the rows."""
    found = comparison(row("a", 0.0, None), row("b", 0.0, 9.0))
    assert found.recommended is None
    assert found.reason == (
        "No mechanism is recommended: none has found any of the 2 most common values. "
        "It takes more people or a larger ε."
    )


def test_errors_are_compared_where_all_have_some() -> None:
    """At an ε at which one of the equals found nothing the others' errors do not count, nor do those of a peer."""
    rows = [row("a", 0.0, None, 0.5), row("a", 0.7, 9.0, 1.0), row("b", 0.0, 50.0, 0.5), row("b", 0.7, 3.0, 1.0)]
    found = comparison(*rows)
    assert found.recommended == "b"
    assert "smallest errors" in found.reason
    assert "smallest errors" not in comparison(*rows[:3]).reason  # of these, no ε has errors of both


def test_what_is_named_twice_is_run_once() -> None:
    """The same mechanism and the same ε, again, are no further rows."""
    found = compare(Integers(4), crowd(20, 10), ["subset", "jl", "subset"], [1.0, 1.0], k=2, seed=1)
    assert [each.mechanism for each in found.rows] == ["subset", "jl"]


HONEST_PEER = """
class UEClient:
    def __init__(self, epsilon, d, use_oue, index_mapper):
        assert use_oue
    def privatise(self, data):
        return data

class UEServer:
    def __init__(self, epsilon, d, use_oue, index_mapper):
        self.counts = [0] * d
    def aggregate(self, report):
        self.counts[report] += 1
    def estimate(self, value, suppress_warnings):
        return float(self.counts[value])
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder like a virtual environment, whose Python has a pure-ldp that adds no noise and can only count lists."""
    oracles = tmp_path / "packages" / "pure_ldp" / "frequency_oracles"
    oracles.mkdir(parents=True)
    (oracles / "unary_encoding.py").write_text(HONEST_PEER)
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/packages" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return tmp_path


def test_a_peer_sees_the_same_people(environment: Path) -> None:
    """A peer without noise finds the most common values and their exact counts, at every ε, and is recommended."""
    found = compare(Integers(4), crowd(700, 500, 40), ["jl"], [1.0, 2.0], k=2, seed=1, peers=str(environment))
    theirs = [each for each in found.rows if each.mechanism == "pure-ldp OUE"]
    assert [each.epsilon for each in theirs] == [1.0, 2.0]
    assert all((each.recall, each.precision, each.count_error) == (1.0, 1.0, 0.0) for each in theirs)
    assert (found.recommended, found.second, found.left_out) == ("pure-ldp OUE", "jl", {})
    json.dumps(found.to_json(), allow_nan=False)


def test_a_peer_that_cannot_be_run_is_left_out_with_the_reason(environment: Path) -> None:
    """What it said last is the reason; a folder without a Python is refused before anything is run."""
    searched = compare(Integers(20), crowd(700, 500), ["jl"], [1.0], k=1, seed=1, peers=str(environment))
    assert "No module named 'pure_ldp.frequency_oracles.apple_cms'" in searched.left_out["pure-ldp"]
    wide = compare(Integers(80), crowd(700, 500), ["glps"], [1.0], k=1, seed=1, peers=str(environment))
    assert wide.left_out["pure-ldp"] == "pure-ldp must have values of at most 64 bits, got 80"
    with pytest.raises(ParameterError, match="--peers must be the directory of a virtual environment with pure-ldp"):
        compare(Integers(4), crowd(500), ["jl"], [1.0], peers="no-such-folder")


def test_a_peer_that_prints_something_else_is_left_out(tmp_path: Path) -> None:
    """A program that prints a banner, or is no Python at all, is told in a sentence."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho hello\n", encoding="ascii")
    program.chmod(0o755)
    found = compare(Integers(4), crowd(700, 500), ["jl"], [1.0], k=1, seed=1, peers=str(tmp_path))
    assert "must print only what pure-ldp found, got something else" in found.left_out["pure-ldp"]
