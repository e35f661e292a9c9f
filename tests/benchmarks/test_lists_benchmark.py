from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import list_peers, lists, lists_page
from hubbub.mechanisms.subset import best_window

pytestmark = pytest.mark.slow

SMALL = lists.Cell("subset", "Zipf", 5, 1.0, 1_000)
SPENT = {"window": 17, "random_words_ns": 5.0, "encode_ns": 101.0, "tally_ns": 99.0}


def times(size: int, epsilon: float) -> lists.Row:
    """Times that miss a goal in one cell, so that a page does not depend on the machine."""
    return SPENT if (size, epsilon) == (64, 1.0) else {**SPENT, "encode_ns": 50.0, "tally_ns": 2.0}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> lists.Row:
    """A run of few cells, through JSON as the file would have them."""
    cells = [SMALL, SMALL._replace(people=20_000), SMALL._replace(mechanism="tree")]
    monkeypatch.setattr(lists, "cells", lambda _: cells)
    monkeypatch.setattr(lists, "FREE", {"subset": 800, "tree": 800})
    monkeypatch.setattr(lists, "own_times", times)
    given = argparse.Namespace(quick=True, only=None, json=None, seed=1)
    return dict(json.loads(json.dumps(lists.run(given))))


@pytest.mark.parametrize("people", [7, 1_000, 20_000])
@pytest.mark.parametrize("values", [2, 5, 100])
def test_crowds_have_all_their_people(values: int, people: int) -> None:
    """Even crowds are even, one value is held by everybody, and the shares of Zipf's are 1/rank."""
    even, zipf, one = (lists.counts_of(crowd, values, people, 1) for crowd in lists.CROWDS)
    assert even.sum() == zipf.sum() == one.sum() == people
    assert even.max() - even.min() <= 1
    assert one.max() == people
    share = people / (1 / np.arange(1, values + 1)).sum()
    assert np.abs(np.sort(zipf)[::-1] - share / np.arange(1, values + 1)).max() <= 1


def test_the_optimum_is_the_textbooks() -> None:
    """Two values are Warner's randomised response: e^ε/(e^ε − 1)² for each person."""
    counts = lists.counts_of("one", 2, 1_000, 1)
    assert lists.optimum(counts, 1.0) ** 2 == pytest.approx(1_000 * math.e / (math.e - 1) ** 2)
    assert lists.best_size(2, 1.0) == 1
    assert lists.best_size(100, 1.0) == 27  # 100/(e + 1) is 26.9


def test_the_error_over_all_values_is_the_same_for_every_crowd() -> None:
    """So one size of subsets is the best for all of them: none is better for any, and `subset` has it too."""
    crowds = [lists.counts_of(crowd, 100, 1_000, 1) for crowd in lists.CROWDS]
    errors = [lists.optimum(counts, 4.0) for counts in crowds]
    assert errors == pytest.approx([errors[0]] * 3)
    assert lists.best_size(100, 4.0) == 2
    for counts in crowds:
        assert lists.optimum(counts, 4.0) == pytest.approx(min(lists.error_of(counts, k, 4.0) for k in range(1, 100)))
        # One value has the least noise of an absent value, but more over all of them.
        assert lists.error_of(counts, 1, 4.0) / lists.optimum(counts, 4.0) == pytest.approx(1.049, abs=0.001)


@pytest.mark.parametrize("epsilon", lists.EPSILONS)
@pytest.mark.parametrize("values", lists.VALUES)
def test_windows_have_the_size_of_the_optimum(values: int, epsilon: float) -> None:
    """The mechanism and the benchmark find it apart."""
    assert best_window(values, epsilon) == lists.best_size(values, epsilon)


@pytest.mark.parametrize("people", [1_000, 20_000])
def test_subset_is_the_optimum(people: int) -> None:
    """Person by person and drawn from its law, within four standard errors of 300 runs of four counts."""
    row = lists.measure(SMALL._replace(people=people), 300, seed=2)
    assert row["ratio"] == pytest.approx(1, abs=4 / math.sqrt(2 * 4 * 300))
    assert row["half"] == pytest.approx(2.6 / math.sqrt(2 * 4 * 300), rel=0.25)


def test_a_run_is_repeatable() -> None:
    """Everything follows from the seed."""
    assert lists.measure(SMALL, 3, seed=2) == lists.measure(SMALL, 3, seed=2)


def test_runs_are_as_many_as_the_counts_need() -> None:
    """Free counts are the values less one in an even crowd; where one count has all the noise they are few."""
    even, one = (SMALL._replace(crowd=crowd, values=100, epsilon=6.0) for crowd in ("even", "one"))
    assert lists.runs_of(even, 9_900, 1) == 100
    assert lists.runs_of(one, 9_900, 1) > 1_500
    assert lists.runs_of(even, 1, 1) == lists.FEWEST


def test_peers_get_the_same_crowd() -> None:
    """Of the small crowds with short lists only; pure-ldp has fewer runs."""
    todo = [SMALL, SMALL._replace(people=20_000), SMALL._replace(values=300), SMALL._replace(mechanism="tree")]
    asked, jobs = lists.peer_jobs(todo, seed=1)
    assert asked == [SMALL]
    assert jobs[0]["counts"] == lists.counts_of("Zipf", 5, 1_000, 1).tolist()
    assert jobs[0]["runs"][list_peers.UNARY] == 30
    assert jobs[0]["runs"][list_peers.SUBSET] >= 1_000


@pytest.mark.parametrize("values", [2, 5, 100])
def test_chances_of_peers(values: int) -> None:
    """GRR is subset selection with one value; the two sizes of subsets have the chances that the formula gives."""
    assert list_peers.chances(list_peers.GRR, values, 2.0) == pytest.approx(lists.chances(values, 1, 2.0))
    size, *chances = list_peers.subset_chances(values, 2.0)
    assert chances == pytest.approx(lists.chances(values, size, 2.0))


def test_a_run_becomes_a_page(tiny: lists.Row) -> None:
    """Every section is there with what was measured, and what misses its target is named."""
    text = lists_page.page(tiny)
    headings = ("Against the targets", "Error", "The optimum", "Peers", "Time per report")
    assert all(f"\n## {heading}\n" in text for heading in headings)
    row = " | ".join(lists_page.show(each) for each in tiny["cells"])
    assert f"| 5 | 1 | {row} |" in text
    assert "Peers were left out of a quick run." in text
    assert "| 64 | 1 | 17 | 5 | 101 / 99 |" in text
    assert lists_page.misses(tiny) == ["`subset`, 64 values, ε = 1: encode takes 101 ns"]
    assert "- `subset`, 64 values, ε = 1: encode takes 101 ns" in text
    assert "up to 64 values | 8 | 101 ns (encode, 64 values, ε = 1) | 1 |" in text


def test_targets_are_judged_beyond_their_intervals(tiny: lists.Row) -> None:
    """A peer is better, or `subset` worse, only if all of the interval says so."""
    cell = tiny["cells"][0] | {"ratio": 1.0, "half": 0.03}
    peer = {**SMALL._asdict(), "mechanism": "a peer", "runs": 50}
    tiny |= {"cells": [cell], "times": [], "peers": [{**peer, "ratio": 0.95, "half": 0.04}]}
    assert lists_page.misses(tiny) == []
    tiny["peers"][0]["ratio"] = 0.92
    where = "Zipf, 5 values, ε = 1, 1,000 people"
    assert lists_page.misses(tiny) == [f"a peer, {where}: 0.920 ± 0.046 times the error of `subset`"]
    tiny |= {"cells": [cell | {"ratio": 1.07}], "peers": "None"}
    assert lists_page.misses(tiny) == [f"`subset`, {where}: 1.070 ± 0.032 times the optimum"]


def test_peers_are_on_the_page(tiny: lists.Row) -> None:
    """A column for each, as ratios to the optimum, and a row of times."""
    answer = {name: {"runs": 25, "mean": 4.0, "sd": 1.0} for name in list_peers.PEERS}
    tiny["peers"] = lists.compared([SMALL], [answer], seed=1)
    for row in tiny["times"]:
        row |= {name: {"encode_ns": 1234.0, "tally_ns": 56.0} for name in list_peers.PEERS}
    ratio = 2 / lists.optimum(lists.counts_of("Zipf", 5, 1_000, 1), 1.0)
    assert tiny["peers"][0]["ratio"] == pytest.approx(ratio)
    assert tiny["peers"][0]["half"] == pytest.approx(2.797 / 4 / 5 / 2, rel=1e-3)
    text = lists_page.page(tiny)
    shown = lists_page.show(tiny["peers"][0])
    assert f"| Zipf | 5 | 1 | {lists_page.show(tiny['cells'][0])} | {' | '.join([shown] * 5)} |" in text
    assert "| 64 | 1 | 17 | 5 | 101 / 99 | 1,234 / 56 |" in text
    assert "error of a peer ≥ 0.97 × that of `subset` | 5 |" in text


def test_times_alone_are_measured_again(tiny: lists.Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other numbers are those of the file."""
    kept = tmp_path / "lists.json"
    kept.write_text(json.dumps(tiny), "utf-8")
    monkeypatch.setattr(lists, "own_times", lambda *_: {**SPENT, "encode_ns": 7.0})
    again = lists.run(argparse.Namespace(quick=True, only="times", json=kept, seed=5))
    assert {name: again[name] for name in ("seed", "cells", "peers")} == {
        name: tiny[name] for name in ("seed", "cells", "peers")
    }
    assert {row["subset"]["encode_ns"] for row in again["times"]} == {7.0}


def test_the_tree_alone_is_measured_again(tiny: lists.Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells are new, and all other numbers are those of the file."""
    kept = tmp_path / "lists.json"
    kept.write_text(json.dumps(tiny), "utf-8")
    cells = [lists.Cell(mechanism, "even", 2, 4.0, 1_000) for mechanism in ("subset", "tree")]
    monkeypatch.setattr(lists, "cells", lambda _: cells)
    monkeypatch.setattr(lists, "measure", lambda cell, runs, seed: {**cell._asdict(), "runs": runs, "seed": seed})
    again = lists.run(argparse.Namespace(quick=True, only="tree", json=kept, seed=5))
    others = [row for row in tiny["cells"] if row["mechanism"] != "tree"]
    assert again["cells"][:-1] == others
    assert again["cells"][-1]["mechanism"] == "tree"
    assert {name: again[name] for name in ("seed", "peers", "times")} == {
        name: tiny[name] for name in ("seed", "peers", "times")
    }


def test_times_are_measured() -> None:
    """Windows of one value and of several."""
    for size, epsilon, window in ((4, 4.0, 1), (12, 0.5, 5)):
        spent = lists.own_times(size, epsilon)
        assert spent["window"] == window
        assert all(0 < spent[name] < 1e6 for name in ("random_words_ns", "encode_ns", "tally_ns"))
