"""The public lists of names."""

from pathlib import Path

import pytest

import hubbub
from hubbub.errors import ParameterError
from hubbub.model.coded_domain import Hostnames, Words
from hubbub.model.domain import Categories
from hubbub.name_lists import LISTS, groups

FILES = sorted((Path(hubbub.__file__).parent / "names").iterdir())


@pytest.mark.parametrize("which", LISTS)
def test_every_name_is_a_value_of_its_domain(which: str) -> None:
    """A name is spelled as a survey counts it, or it could never be seen."""
    domain = Hostnames() if which in ("sites", "spam") else Words(which.partition(":")[2] or None)
    domain = Categories(hubbub.names(which)) if which == "zones" else domain
    named = list(hubbub.names(which))
    assert (400 if which == "zones" else 1_000) <= len(named) <= 5_000
    assert len(set(named)) == len(named)
    decoded = domain.decode(domain.encode(named))
    assert [value for value in decoded if value != "(other)"] == [
        name for name, value in zip(named, decoded, strict=True) if value != "(other)"
    ]
    assert decoded.count("(other)") <= 0.01 * len(named)  # a word may be too long for the code of ten languages


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_small_and_says_where_it_comes_from(file: Path) -> None:
    """Each list stays under 100 kB, and its first line names source and licence."""
    assert file.stat().st_size < 100_000
    first = file.read_text("utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert any(licence in first for licence in ("CC0", "CC-BY-SA", "public domain"))


def test_sites_know_the_scripts_direct_and_groups() -> None:
    """The list has what the script reports for a visit without a referrer, and names that belong together."""
    sites = groups("sites")
    assert {"direct", "google.de", "github.com", "spiegel.de", "allegro.pl"} <= sites.keys()
    assert sites["google.de"] == sites["google.com"] == "Google"
    assert sites["chat.openai.com"] == sites["chatgpt.com"] == "ChatGPT"


def test_spam_is_marked_and_not_dropped() -> None:
    """A host of the list, or below one, stays in the answer, with a sentence; no site that everybody knows is on it."""
    answer = hubbub.find(["forum.semalt.com"] * 900, 4, Hostnames(), seed=1)
    assert [hitter.value for hitter in answer.hitters] == ["forum.semalt.com"]
    assert "Known for made-up visits, by a public list of spam referrers: forum.semalt.com." in repr(answer)
    assert not set(hubbub.names("sites")) & set(hubbub.names("spam"))


def test_zones_are_counted_by_country() -> None:
    """Current and older names of a zone are in one country, whose interval comes from their joint law."""
    zones = groups("zones")
    assert zones["Asia/Calcutta"] == zones["Asia/Kolkata"] == "India"
    people = ["America/New_York"] * 900 + ["America/Chicago"] * 700 + ["Europe/Berlin"] * 600
    answer = hubbub.find(people, 4, Categories(hubbub.names("zones")), mechanism="subset", groups="auto", seed=1)
    found = {group.name: group for group in answer.groups}
    assert found["United States"].low < 1_600 < found["United States"].high
    assert found["Germany"].low < 600 < found["Germany"].high


def test_the_page_has_the_numbers() -> None:
    """docs/names.md says how long the lists are."""
    page = (Path(__file__).parents[1] / "docs" / "names.md").read_text("utf-8")
    for which in ("sites", "spam"):
        assert f"| `{which}` | {len(hubbub.names(which)):,} hosts" in page


def test_an_unknown_list_is_refused() -> None:
    """The message names the lists."""
    with pytest.raises(ParameterError, match="must be one of sites, spam, words"):
        hubbub.names("names")


def test_a_group_has_one_spelling() -> None:
    """Groups that differ in capitals or an exclamation mark only would share out the people of one site."""
    spelled = set(groups("sites").values())
    assert len({group.casefold().rstrip("!") for group in spelled}) == len(spelled)
