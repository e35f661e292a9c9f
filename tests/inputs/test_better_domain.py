"""The domain that is named where the one that was taken does not hold the values."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hubbub import Bytes, Categories, Hex, Integers, IPv4, Text, UUIDs, find, names
from hubbub.finding import best_domain
from hubbub.inputs.better_domain import Sample, better_domain, fitted, held
from hubbub.inputs.encoding import Encoder, mark

HOSTS = ["search.example", "news.bbc.co.uk", "de.wikipedia.org", "github.com"]
rng = random.Random(28)
HASHES = [f"{rng.getrandbits(160):040x}" for _ in range(50)]
UUID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
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
        ([UUID, UUID.upper()], "uuid", 1),
        ([UUID.replace("-", "")], "hex:32", 1),  # would be shown with dashes as a UUID
        (HASHES, "hex:40", 1),
        (["2024-02-29", "2024-03-01"], "text", 1),  # eight digits, but the dashes would be lost
        (["facade", "decade", "cafe"], "words", 1),
        (["§¶" * 15, "ü%€(" * 9, "x" * 65], "bytes:64", 2 / 3),
    ],
)
def test_the_domain_with_most_values_and_fewest_bits_is_named(values: list, name: str, share: float) -> None:
    """With the share that it really holds."""
    found = better_domain(values, mark)
    assert found is not None
    assert (found.name, found.share) == (name, pytest.approx(share))
    marked = mark(found.domain, values)
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


def test_a_domain_with_fewer_bits_is_named_with_its_gain() -> None:
    """Texts that are UUIDs, with how many must hold one in each domain; a domain that saves little is not named."""
    limits = {Text(): 9_000.0, UUIDs(): 1_200.0}
    for now, told in ((9_000.0, ("uuid", 1.0, 9_000.0, 1_200.0)), (1_300.0, (None,) * 4)):
        encoder = Encoder(Text(), seen_from=lambda domain, _, now=now: {**limits, Text(): now}[domain])
        encoder.encode([UUID] * 100)
        intake = encoder.intake
        assert (intake.better_domain, intake.better_share, intake.value_limit, intake.better_limit) == told
    encoder = Encoder(Text())  # nobody who could say what is gained
    encoder.encode([UUID] * 100)
    assert encoder.intake.better_domain is None


def test_a_code_for_a_script_that_the_text_code_treats_as_rare() -> None:
    """It is fitted to half of the values and measured on the others; usual texts gain little."""
    letters = "கசடதபறயரலவ"
    words = ["".join(rng.choices(letters, k=rng.randint(4, 9))) for _ in range(300)]
    share, bits = held(Text(), words, mark(Text(), words))
    found = fitted(Text(), share, bits, words, mark)
    assert found is not None
    assert (found.name, found.share) == ("code:FILE", 1)
    assert bits > 8 * np.mean([len(word.encode()) for word in words]) > 3 * found.bits
    assert fitted(Text(), share, bits, words[:99], mark) is None  # too few to tell
    known = list(names("words:en"))
    usual = [" ".join(rng.sample(known, 3)) for _ in range(300)]
    assert fitted(Text(), *held(Text(), usual, mark(Text(), usual)), usual, mark) is None


def test_what_no_domain_can_hold_is_told() -> None:
    """Values of more than 64 bytes, unless the domain keeps what it wants of them."""
    agents = [f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{k}.0" for k in range(50)]
    for domain in (Text(), Bytes(64)):
        answer = find(agents, 4, domain, seed=1)
        assert answer.intake is not None
        assert answer.intake.too_long == 1
        assert "About 100 % of the values are longer than the 64 bytes that a domain can hold" in str(answer)
    answer = find(["short"] * 50, 4, seed=1)
    assert answer.intake is not None
    assert answer.intake.too_long is None


def test_auto_takes_the_best_domain() -> None:
    """That of the values of a rehearsal; texts if none holds them, or if there are none."""
    cases = (([UUID] * 9, UUIDs()), (HASHES, Hex(40)), ([7, 8], Integers(64)), ([], Text()), (["x" * 3_000], Text()))
    for values, domain in cases:
        assert best_domain(values) == domain
    answer = find([UUID] * 900, 4, "auto", seed=1)
    assert [hitter.value for hitter in answer.hitters] == [UUID]
