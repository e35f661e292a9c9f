"""The benchmark on published inputs: what needs no file runs here."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import published, published_page


@pytest.mark.parametrize("name", ["junta256", "spike1", "spike6", "spike8"])
def test_inputs_are_made_from_their_description(name: str) -> None:
    """They have the published hash, which `people_of` requires."""
    people = published.people_of(name)
    assert people is not None
    assert people.max() < published.INPUTS[name].values


def test_what_cannot_be_made_is_left_out_and_said(tmp_path: Path) -> None:
    """A drawn input without its file has no numbers, and a file that is another one is refused."""
    assert published.people_of("zipf1.0", tmp_path) is None
    errors = dict.fromkeys(published.INPUTS) | {"spike8": published.measure("spike1", None, 2, 1)}
    text = published_page.page({"seed": 1, "errors": errors, "queries": None, "peers": "Left out"}, published.INPUTS)
    assert f"| `zipf1.0` | 22,000 | 5 | {published_page.MISSING} |" in text
    (tmp_path / "zipf1.0.in").write_text("0\n")
    with pytest.raises(SystemExit, match=r"zipf1\.0\.in must have the SHA-256"):
        published.people_of("zipf1.0", tmp_path)


def test_a_small_cell_is_at_the_bound() -> None:
    """`subset` on `spike1`: within four standard errors of the formula, of which a run's spread is about 1.6."""
    row = published.measure("spike1", None, 20, seed=3)
    assert row is not None
    assert abs(row["mean"] - row["formula"]) < 4 * row["sd"] / math.sqrt(20)
    assert row["formula"] == pytest.approx(26.293, abs=0.001)


def test_queries_are_numbered_as_their_authors_do() -> None:
    """The first byte has the lowest bits, which come first when bits are reversed; other lengths are skipped."""
    numbers, counts = published.read_queries(gzip.compress(b"google\t5\nabc\t3\nmyspac\t2\n"))
    assert counts.tolist() == [5, 2]
    assert numbers[0] & np.uint64(255) == ord("g")
    bits = f"{int(published.first_bit_first(numbers)[0]):048b}"
    assert bits[:8] == f"{ord('g'):08b}"[::-1]


def test_queries_are_texts() -> None:
    """They come back from texts; what cannot be a query is none."""
    numbers = published.first_bit_first(published.read_queries(gzip.compress(b"google\t5\nwww.my\t3\n"))[0])
    assert published.as_texts(numbers) == ["google", "www.my"]
    assert published.as_numbers(["google", "www.my"]).tolist() == numbers.tolist()
    assert published.as_numbers(["too long", "\u0100bcdef"]).tolist() == [2**64 - 1] * 2


def test_scores_of_a_list() -> None:
    """All of the top has every score 1; the commonest alone has 32 of 528 ranks."""
    top = np.arange(32, dtype=np.uint64)
    assert published.scores(top, top) == (32, 1.0, 1.0)
    assert published.scores(top[:1], top) == (1, pytest.approx(2 / 33), pytest.approx(32 / 528))
