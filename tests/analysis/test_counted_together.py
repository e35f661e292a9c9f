"""Groups of values in an answer, and the two modes: nothing wrong in it, or nothing missing."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hubbub import (
    Answer,
    Categories,
    Hostnames,
    Integers,
    Question,
    Tally,
    create_survey,
    find,
    find_hitters,
    mechanism_for,
)
from hubbub.analysis.question import MODES
from hubbub.analysis.sentences import told
from hubbub.errors import ParameterError

GOOGLE = {"google.com": 3000, "google.de": 1200, "google.fr": 600}
CROWD = {**GOOGLE, "direct": 2500, "reddit.com": 900, "chatgpt.com": 800, "rare.example": 12}
SITES = [site for site, many in CROWD.items() for _ in range(many)]
OWN = {"Search": ["www.google.com", "google.de", "google.fr", "google.de"], "Nobody": ["a.example", "b.example"]}
LIST = Categories(["a", "b", "c", "d", "e"])
LETTERS = ["a"] * 500 + ["b"] * 300 + ["c"] * 150 + ["d"] * 50


@pytest.fixture(scope="module")
def public() -> Answer:
    """The answer with the groups of the public list."""
    return find(SITES, 4, Hostnames(), seed=3, groups="auto")


@pytest.fixture(scope="module")
def own() -> Answer:
    """The answer with groups of our own."""
    return find(SITES, 4, Hostnames(), seed=3, groups=OWN)


class TestGroups:
    """How many people hold any of some values."""

    def test_those_of_the_public_list(self, public: Answer) -> None:
        """Groups that somebody holds are in the answer, with intervals that hold, beside the single names."""
        groups = {group.name: group for group in public.groups}
        assert groups["Google"].members > 200
        assert {"Google", "ChatGPT", "Reddit"} <= set(groups)
        assert "Bing" not in groups
        for name, truth in (("Google", 4800), ("ChatGPT", 800), ("Reddit", 900)):
            assert groups[name].low <= truth <= groups[name].high
        # The rows of members prove more than the sum of 205 noisy counts does.
        assert groups["Google"].low >= sum(row.low for row in public.hitters if row.value in GOOGLE) - 1e-6
        assert {row.value for row in public.hitters} == set(CROWD) - {"rare.example"}

    def test_our_own(self, own: Answer) -> None:
        """A value counts once, in any spelling. The interval is far narrower than added bounds would be."""
        search, nobody = own.groups
        assert (search.name, search.members, nobody.name, nobody.members) == ("Search", 3, "Nobody", 2)
        assert search.low <= 4800 <= search.high
        assert nobody.low == 0
        assert search.share == search.count / len(SITES)
        widths = [row.high - row.low for row in own.hitters if row.value in GOOGLE]
        assert len(widths) == 3
        assert search.high - search.low < 0.65 * sum(widths)  # independent errors partly cancel

    def test_sentences_documents_and_csv(self, own: Answer) -> None:
        """They are told in a sentence, survive JSON, and are rows of the CSV with the number of their members."""
        (said,) = told(own, ["groups"])
        assert said.startswith("Counted together: Search (3 values): ")
        assert Answer.from_document(own.to_document()) == replace(own, limit_of=None)
        rows = list(csv.DictReader(io.StringIO(own.to_csv())))
        assert [(row["value"], row["members"]) for row in rows[-2:]] == [("Search", "3"), ("Nobody", "2")]
        assert rows[-1]["stands_out"] == "False"

    def test_a_list(self) -> None:
        """Groups of a list are counted, too; of all its values together there is no doubt."""
        answer = find(LETTERS, 2, LIST, seed=1, groups={"ab": ["a", "b"], "abcde": list("abcde")})
        assert answer.whole_list
        for name, truth in (("ab", 800), ("abcde", 1000)):
            (group,) = [each for each in answer.groups if each.name == name]
            assert group.low <= truth <= group.high

    def test_nobody_yet(self) -> None:
        """Before the first report, groups of our own have a row, and those of the public list have none."""
        survey = create_survey("x", Hostnames(), 1)
        nobody = Tally(survey.survey_id, 0, np.zeros(mechanism_for(survey).cells_shape, np.int64))
        assert [group.count for group in find_hitters(survey, nobody, groups=OWN).groups] == [0, 0]
        assert find_hitters(survey, nobody, groups="auto").groups == ()

    @pytest.mark.parametrize(
        ("groups", "said"),
        [
            ("google", "groups must be own, auto, none or lists of values by name"),
            (["a"], "groups must be lists of values by name, got list"),
            ({}, "groups must be 1 to 1,000"),
            ({"x": "abc"}, "a group must be a list of values, got str"),
            ({"": ["a"]}, "a group must have a name"),
            ({"\ud800": ["a"]}, "a group must have a name"),
            ({"x" * 101: ["a"]}, "a group must have a name of 1 to 100 characters"),
            ({"x": range(10_001)}, "of at most 10,000 values together"),
            ({str(k): ["a"] for k in range(1001)}, "groups must be 1 to 1,000"),
            ({"x": ["a"], " x": ["b"]}, "different names"),
        ],
    )
    def test_no_groups(self, groups: Any, said: str) -> None:
        """Anything else is refused in a sentence, before any report is made."""
        with pytest.raises(ParameterError, match=said):
            find(LETTERS, 2, LIST, groups=groups)

    def test_groups_that_a_survey_cannot_have(self) -> None:
        """A group has a value of the domain, and people have one value each."""
        with pytest.raises(ParameterError, match="at least one value of the domain, got none in 'x'"):
            find(LETTERS, 2, LIST, groups={"x": ["z"]})
        with pytest.raises(ParameterError, match='groups must be "none" if people have several'):
            Question(values_per_person=2, groups="auto")

    def test_numbers(self) -> None:
        """Members are numbers in any form that a candidate may have; domains without a list have no public groups."""
        answer = find([7] * 600 + [8] * 400, 4, Integers(32), seed=1, groups={"x": ["7", 8.0, None]})
        assert [group.members for group in answer.groups] == [2]
        assert answer.groups[0].low <= 1000 <= answer.groups[0].high
        assert Question(groups="auto").about(Integers(32)).groups == {}


class TestModes:
    """What may be wrong near a share, and what may be missing."""

    def test_no_false_negatives(self) -> None:
        """Every named value that may have the share is there, none that surely is below; unnamed ones are searched."""
        answer = find(SITES, 1, Hostnames(), seed=4, mode=MODES[1], share=0.05)
        needed = 0.05 * len(SITES)
        assert {site for site, many in CROWD.items() if many >= needed} <= {row.value for row in answer.hitters}
        assert all(row.high >= needed for row in answer.hitters)
        assert not all(row.stands_out for row in answer.hitters)  # this is what the other mode would not say
        (said,) = told(answer, ["mode"])
        assert said.startswith("No named value that 5.00% of the people (451) or more hold is missing")
        assert said.endswith("A value that nobody named may be missing.")

    def test_no_false_positives(self) -> None:
        """With a share, only values that surely have it; without one, the answer is as before."""
        answer = find(LETTERS, 2, LIST, seed=1, share=0.2)
        assert [row.value for row in answer.hitters] == ["a", "b"]
        assert told(answer, ["mode"]) == ["All values in this answer are held by at least 20.00% of the people (200)."]
        assert told(find(LETTERS, 2, LIST, seed=1), ["mode"]) == []

    def test_a_list(self) -> None:
        """Of a list nothing is missing; there are no sentences about ranks among rows of which some are left out."""
        answer = find(LETTERS, 2, LIST, seed=1, mode=MODES[1], share=0.1)
        assert {"a", "b", "c"} <= {row.value for row in answer.hitters} < set("abcde") | {"(other)"}
        assert [told(answer, [kind])[0].split(";")[0] for kind in ("list", "mode")] == [
            f"{len(answer.hitters)} values of the list",
            "No value that 10.00% of the people (100) or more hold is missing in this answer",
        ]
        held = sum(row.count for row in answer.post_processed("simplex").hitters)
        assert held <= len(LETTERS)

    @pytest.mark.parametrize(
        "knobs",
        [
            *({"mode": mode} for mode in ("x", 1, MODES[1])),
            *({"share": share} for share in (-0.1, 1.1, True, float("nan"), "1")),
        ],
    )
    def test_no_mode(self, knobs: dict[str, Any]) -> None:
        """Other modes and shares are refused."""
        with pytest.raises(ParameterError, match=r"(mode|share) must be"):
            Question(**knobs)
