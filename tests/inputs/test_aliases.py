"""What folding the aliases of a site does for a crowd."""

from __future__ import annotations

import pytest

from hubbub import CodedText, Hostnames, find
from hubbub.codes.shipped import load_code


@pytest.mark.slow
def test_three_aliases_are_seen_as_one_site() -> None:
    """Of 20,000 people, 1 % come from each of three aliases: too few for each alone, but together they are found."""
    people = [f"https://{alias}.reddit.com/" for alias in ("m", "l", "old") for _ in range(200)]
    people += [f"https://site-{number}.example/" for number in range(20_000 - len(people))]
    folded = find(people, 4, Hostnames(), seed=1)
    assert 200 < folded.detection_limit < 600
    assert [hitter.value for hitter in folded.hitters] == ["reddit.com"]
    assert folded.hitters[0].low <= 600 <= folded.hitters[0].high
    # With the earlier rules these are three values, all below the limit.
    assert not find(people, 4, CodedText(load_code("hostnames"), "hostnames-1", 136), seed=1).hitters
