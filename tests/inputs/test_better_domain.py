"""The domain that is named where the one that was taken does not hold the values."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hubbub import Categories, Integers, IPv4, find
from hubbub.inputs.better_domain import TRIED, Sample, better_domain
from hubbub.inputs.encoding import Encoder, mark

HOSTS = ["search.example", "news.bbc.co.uk", "de.wikipedia.org", "github.com"]
ADDRESSES = ["https://example.org/articles/summer", "http://a.example/c?d=1", "https://b.example/sport/12345678"]


@pytest.mark.parametrize(
    ("values", "name", "share"),
    [
        (HOSTS, "hostnames", 1),
        (ADDRESSES, "text", 1),  # a host name alone would lose the rest
        (["hello", "thunderstorm", "Käse", "privacy"], "words", 1),
        (["North Rhine-Westphalia", "Bosnia and Herzegovina"], "text", 1),
        (["13", "99", "123456789", "13.0"], "integers:64", 1),
        ([13, 99], "integers:64", 1),
        (["00501", "00601", "12345"], "text", 1),  # codes, not numbers
        (["-5", "-3", "-17"], "text", 1),  # the code of host names would take fewer bits
        ([-5, -3], "text", 1),
        (["3.5", "2.25"], "text", 1),
        (["St. Gallen", "New York", "Los Angeles", "Bern"], "text", 1),
        (["St. Gallen", "New York", "La Paz"] * 2 + HOSTS, "text", 1),
        (HOSTS * 2 + ["localhost", "direct"], "hostnames", 1),
        (["New York", "so long"], "text", 1),
        (["192.0.2.1", "10.1.2.3"], "ipv4", 1),
        (["192.0.2.1"] * 3 + ["nowhere"], "text", 1),
        (["§¶" * 15, "ü%€(" * 9, "x" * 65], "bytes:64", 2 / 3),
    ],
)
def test_the_domain_with_most_values_and_fewest_bits_is_named(values: list, name: str, share: float) -> None:
    """With the share that it really holds."""
    assert better_domain(values, mark) == (name, pytest.approx(share))
    domain = TRIED[name]()
    marked = mark(domain, values)
    assert 1 - (marked.cut | marked.other).mean() == pytest.approx(share)


def test_where_nothing_holds_them_none_is_named() -> None:
    """Texts of thousands of bytes."""
    assert better_domain(["x" * 3_000], mark) is None


@pytest.mark.parametrize("people", [1, 2_048, 2_049, 5_000, 100_003])
def test_a_sample_is_evenly_spread(people: int) -> None:
    """However the values come, every k-th is kept, and at least half of what there is room for."""
    rng, sample, start = random.Random(people), Sample(), 0
    while start < people:
        end = min(people, start + rng.choice([1, 7, 999, 4_096, 65_536]))
        sample.add(list(range(start, end)))
        start = end
    kept = np.array(sample.values)
    assert min(people, 1_024) <= len(kept) <= 2_048
    step = kept[1] - kept[0] if people > 1 else 1
    assert kept.tolist() == list(range(0, people, step))


def test_the_intake_names_a_domain_from_five_per_cent_on() -> None:
    """And none before, nor if no other domain holds more."""
    for others, name in ((5, None), (6, "integers:64")):
        encoder = Encoder(Integers(4))
        encoder.encode([3] * (100 - others) + [4_000] * others)
        assert encoder.intake.better_domain == name
    encoder = Encoder(IPv4())
    encoder.encode(["192.0.2.1"] * 9 + ["x" * 3_000])
    assert (encoder.intake.other, encoder.intake.better_domain, encoder.intake.better_share) == (1, None, None)


def test_closed_lists_and_python_are_told_too() -> None:
    """A poll whose people answered something else."""
    answer = find(["yes"] * 10 + HOSTS * 10, 4, Categories(["yes", "no"], other=False), seed=1)
    assert answer.intake is not None
    assert (answer.intake.other, answer.intake.better_domain, answer.intake.better_share) == (40, "hostnames", 1.0)
