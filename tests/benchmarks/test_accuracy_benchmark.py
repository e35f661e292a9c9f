from __future__ import annotations

import argparse
import json
import math

import numpy as np
import pytest

from benchmarks import accuracy, accuracy_page, names, peers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("accuracy")]  # they share runs that take long

TINY = accuracy.Cell("near", 64, 4, 20_000, 5, (9.5, 30))


@pytest.fixture(scope="module")
def tiny() -> list[accuracy.Row]:
    """Runs of a crowd small enough for a test, through JSON as the file would have them."""
    cells = [(TINY, 2), (TINY._replace(load="peers", peers=True), 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accuracy, "RESAMPLES", 40)
        return list(json.loads(json.dumps(accuracy.run_cells(cells, seed=1, workers=0, kept=None))))


def test_a_cell_has_every_number(tiny: list[accuracy.Row]) -> None:
    """The fields of `tree`, each within its range."""
    row = tiny[0]
    assert (row["who"], row["runs"], row["planted"], row["people"]) == ("tree", 2, 5, 20_000)
    assert row["sd"] == pytest.approx(math.sqrt(20_000) * 0.2757, rel=1e-3)
    assert row["exhaustive"] == pytest.approx(11.05, abs=0.01)
    assert 0 <= row["false_runs"] <= 2
    assert 0 <= row["false_interval"][0] <= row["false_interval"][1] <= 1
    assert 0.2 < row["count_error"] < 3
    assert 0 <= row["coverage"] <= 2
    assert 0 <= row["clear_recall"] <= 1
    assert row["decode_s"] > 0
    assert row["stated_z95"] > 11
    assert {"z95", "z95_interval"} <= set(row)


def test_peers_see_the_same_crowds(tiny: list[accuracy.Row]) -> None:
    """Three plans of PEM beside `tree`, with a list that asks for less than acceptance does."""
    who = [row["who"] for row in tiny[1:]]
    assert who == ["tree", "PEM, steps of 4 bits", "PEM, steps of 8 bits", "PEM, tuned"]
    assert all({"z95", "listed_z95", "false_runs"} <= set(row) for row in tiny[2:])


def test_a_run_is_repeatable() -> None:
    """Everything follows from the seed except the time it takes."""
    first, again = (accuracy.measure(TINY, 1, 0)["tree"] for _ in range(2))
    assert {**first, "decode_s": 0} == {**again, "decode_s": 0}


@pytest.mark.parametrize("load", ["none", "giant", "sequential", "pairs", "zipf 1.5"])
def test_every_load_has_all_its_people(load: str) -> None:
    """Counts are those of the crowd, and what is said to be held is."""
    cell = TINY._replace(load=load, planted=0 if load in ("none", "zipf 1.5") else 5, window=(9.5, 12))
    everybody, items, counts = accuracy.crowd(cell, np.random.default_rng(1))
    assert everybody.shape == (20_000, 1)
    for item, count in zip(items[:10], counts, strict=False):
        assert (everybody == item).all(axis=1).sum() == count
    assert all(accuracy.held(value, everybody) for value in accuracy.numbers(items[:3]))
    if load == "sequential":
        assert not accuracy.held(accuracy.numbers(items)[0] + 1, everybody)
    if load == "pairs":
        assert items[0, 0] ^ items[1, 0] == 1


def test_probit_recovers_z95() -> None:
    """A detector with a threshold at 10 and unit noise has z95 = 11.645."""
    rng = np.random.default_rng(1)
    z = rng.uniform(8, 14, 20_000)
    found = z + rng.standard_normal(len(z)) > 10
    assert accuracy.fit_probit(z, found, np.ones(len(z))) == pytest.approx(11.645, abs=0.1)


def test_probit_survives_a_perfect_split() -> None:
    """All found above 10 and none below: the answer is near 10, not infinite."""
    z = np.linspace(8, 12, 41)
    assert accuracy.fit_probit(z, z > 10, np.ones(41)) == pytest.approx(10.2, abs=0.3)


def test_wilson_is_the_textbooks() -> None:
    """0 of 300 is at most 1.3 %, and 1 of 2 is symmetric."""
    assert accuracy.wilson(0, 300) == (0.0, pytest.approx(0.0126, abs=2e-4))
    low, high = accuracy.wilson(1, 2)
    assert low + high == pytest.approx(1)


def test_exhaustive_search() -> None:
    """The limits that ratios are to."""
    limits = [accuracy.exhaustive(bits) for bits in (64, 128, 256)]
    assert limits == pytest.approx([11.05, 14.93, 20.44], abs=0.02)


def test_plans_of_pem_descend_to_the_full_length() -> None:
    """Shares add up to everybody, and the tuned plan stays within its candidates."""
    for plan in (peers.usual_pem(4, 50), peers.usual_pem(8, 50), peers.tuned_pem(25)):
        assert plan.lengths[-1] == 64
        assert sum(plan.shares) == pytest.approx(1)
        assert list(plan.lengths) == sorted(set(plan.lengths))
    widest = max(np.diff(peers.tuned_pem(25).lengths))
    assert peers.tuned_pem(25).keep << int(widest) <= 1 << 20


def test_pem_is_unbiased() -> None:
    """A value held by half the people is listed, accepted, and counted to within six standard errors."""
    rng = np.random.default_rng(1)
    values = np.concatenate([np.full(50_000, 12345), rng.integers(0, 2**63, 50_000)]).astype(np.uint64)
    listed = peers.run_pem(values, 1.0, peers.usual_pem(8, 10), rng)
    place = int(np.flatnonzero(listed.values == 12345)[0])
    assert listed.accepted[place]
    assert listed.counts[place] == pytest.approx(50_000, abs=6 * 1.92 * math.sqrt(100_000 * 8))


def test_f1_counts_both_sides() -> None:
    """Two of four right, of ten wanted."""
    assert accuracy.scored([1, 2, 97, 98], set(range(1, 11))) == {"reported": 4, "right": 2, "f1": pytest.approx(2 / 7)}


@pytest.mark.parametrize("kind", ["hosts", "words"])
def test_names_have_the_code_lengths_asked_for(kind: str) -> None:
    """Drawn from the law of the code, given the length."""
    domain = names.DOMAINS[kind]()
    rng = np.random.default_rng(1)
    for low, high in ((20, 28), (28, 36)):
        for _ in range(20):
            name, bits = names.draw_name(domain, low, high, rng)
            assert low <= bits < high
            assert domain.code_length(name) == bits
            assert domain.decode(domain.encode([name])) == [name]


def test_a_run_becomes_a_page(tiny: list[accuracy.Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every section is there, targets are judged, and the page says what made it."""
    timed = {"bits": 64, "size": "small", "encode_ns_per_person": 100.0, "tally_ns_per_report": 60.0}
    monkeypatch.setattr(accuracy, "speed", lambda *_: {**timed, "decode_s": 0.4, "tally_mib": 7.0})
    monkeypatch.setattr(accuracy, "run_cells", lambda *_: tiny)
    monkeypatch.setattr(accuracy, "RESAMPLES", 20)
    tiny_names = {"PEOPLE": 20_000, "EACH": 1, "OTHERS": 1000, "CANDIDATES": 1000, "LIST_EPSILON": 4.0}
    for name, value in {**tiny_names, "CELLS": [names.CELLS[1]]}.items():
        monkeypatch.setattr(names, name, value)
    given = argparse.Namespace(quick=True, runs=None, few=100, kept=None, seed=1, workers=0)
    results = {**json.loads(json.dumps(accuracy.run(given))), "command": "the command"}
    written = accuracy_page.page(results)
    headings = ("What is measured", "Against the targets", "Names", "Against the prefix extending method", "Speed")
    assert all(f"\n## {heading}\n" in written for heading in headings)
    assert "Made by `the command`" in written
    assert "| decode, small | ≤ 0.6 s | 0.40 s | reached |" in written
    assert "| encode, small, ε = 1 | ≤ 40 ns | 100 ns | missed by 60 ns |" in written
    assert "| tally, small, ε = 1 | ≤ 30 ns | 60 ns | missed by 30 ns |" in written
    assert "pure-ldp was left out" in written
    scores = {"reported": 10, "right": 9, "f1": 0.9, "people": 100_000, "decode_s": 1.0}
    pairs = [("tree", 4.0, 60.0, 140.0), ("pure-ldp", 4.0, 18_000.0, 7_000.0), ("tree", 1.0, 50.0, 50.0)]
    results["pure_ldp"] = [
        {**scores, "who": who, "epsilon": epsilon, "encode_ns_per_person": encode, "tally_ns_per_report": tally}
        for who, epsilon, encode, tally in [*pairs, ("pure-ldp", 1.0, 2_000.0, 2_500.0)]
    ]
    written = accuracy_page.page(results)
    assert "pure-ldp takes **125** times as long at ε = 4 and **45** times as long at ε = 1." in written
    assert "| encode and tally of pure-ldp over those of `tree`, ε = 4 | ≥ 50 | 125 | reached |" in written
    assert "| encode and tally of pure-ldp over those of `tree`, ε = 1 | ≥ 50 | 45 | missed by 5 |" in written
