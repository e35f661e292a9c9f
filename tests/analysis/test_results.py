"""How an answer is shown, plotted, handed on and post-processed."""

from __future__ import annotations

import builtins
import csv
import importlib.util
import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from hubbub import Answer, Categories, Hitter, Integers, ParameterError, find
from hubbub.analysis.plots import save_plot
from hubbub.analysis.post_processing import METHODS, nearest_crowd
from hubbub.dashboard.meaning import Explained, answer_facts
from hubbub.errors import MissingExtra

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    "\"&quot;'",
    "moc.evil\u202egpj.exe",
    "\u2066\u2067\u2069\u200f\u061c",
    "שלום",
    "line\nbreak\ttab\x1b[31m\x00",
    "=1+1",
    "  @SUM(A1)",
    "\t=cmd|' /C calc'!A0",
    "＝1",
    "$x^2$",
    "x" * 500,
]


def row(value: int | str, count: float = 900, **others: object) -> Hitter:
    """A row of an answer about 10,000 people."""
    return Hitter(value, count, count / 10_000, 50, max(count - 150, 0), count + 150, 0.99999, **others)


HOSTILE_ANSWER = Answer(10_000, 400.0, tuple(row(value) for value in HOSTILE))


class Tags(HTMLParser):
    """The tags of a document, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag; no attribute runs or loads anything."""
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.opened.append(tag)
        if tag not in ("br", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag that closes itself."""
        del attrs
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text.append(data)


def test_repr_has_a_line_for_each_row() -> None:
    """Reports, headings, rows and the limit; what could harm a terminal is spelled out; long values are cut."""
    lines = repr(HOSTILE_ANSWER).splitlines()
    assert lines[0] == "10,000 reports"
    assert lines[1].split() == ["value", "people", "share", "between", "sure", "fakes"]
    assert len(lines) == 2 + len(HOSTILE) + 1
    assert all(line.isprintable() and len(line) <= 100 for line in lines)
    assert lines[-1] == "Values held by fewer than about 400 people may go unseen."


def test_an_empty_answer_says_so() -> None:
    """Nothing stands out, and why: as text, as HTML and as a figure."""
    nothing = Answer(10, math.inf, ())
    assert repr(nothing).splitlines()[1].startswith("Nothing stands out. Too few people")
    assert "Nothing stands out" in nothing._repr_html_()
    assert nothing.to_pandas().empty
    assert nothing.to_csv().count("\n") == 1


def test_a_long_list_is_cut_for_people_and_whole_for_machines() -> None:
    """Fifty rows are shown; JSON, CSV and tables have all."""
    many = Answer(10_000, 400.0, tuple(row(number) for number in range(60)), whole_list=True)
    assert "\nThe first 50 of 60 rows.\n" in repr(many)
    assert "The first 50 of 60 rows." in many._repr_html_()
    assert (
        len(json.loads(many.to_json())["hitters"]) == len(many.to_csv().splitlines()) - 1 == len(many.to_arrow()) == 60
    )


def test_html_holds_hostile_values_as_text() -> None:
    """Only the tags of the table itself are there, all closed; each value stands isolated in a cell."""
    html = HOSTILE_ANSWER._repr_html_()
    tags = Tags(html)
    assert not tags.open
    assert set(tags.opened) == {*("div", "table", "thead", "tbody", "tr", "th", "td", "bdi", "svg", "rect", "line")}
    assert tags.opened.count("bdi") == len(HOSTILE)
    assert "<script>alert(1)</script>" in tags.text
    assert "moc.evil\\u202egpj.exe" in tags.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\x00\x1b]", html)
    assert "http" not in html
    assert re.findall(r"<svg[^>]*aria-label=\"from 750 to 1,050\"", html)


def test_bars_stay_inside_their_picture() -> None:
    """Also where a count is below 0 or above everybody."""
    answer = Answer(100, 20.0, (row("a", 140), row("b", -30, stands_out=False)))
    for numbers in re.findall(r'<rect x="([^"]*)" y="[^"]*" width="([^"]*)"', answer._repr_html_()):
        x, width = map(float, numbers)
        assert x >= -1
        assert x + width <= 181


def test_csv_has_no_formula() -> None:
    """A value that a spreadsheet would run gets a mark; it comes back whole without it, and numbers stay numbers."""
    text = HOSTILE_ANSWER.to_csv()
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [each["value"].removeprefix("'") for each in read] == [value.removeprefix("'") for value in HOSTILE]
    for each in read:
        assert each["value"].lstrip()[:1] not in "=+-@＝＋－＠"
        assert each["value"][:1] not in "\t\r\n"
        assert float(each["count"]) == 900
    assert next(csv.DictReader(io.StringIO(Answer(9, 1.0, (row(7),)).to_csv())))["value"] == "7"


UNSEEN = "\ufeff\u200b\u200d\u2060\u00ad\u202e\u2066\u00a0\u3000\u2028\x00\u034f\ufe0f\u180e\u115f\u3164\uffa0\u2800"


@pytest.mark.parametrize("unseen", [*UNSEEN, UNSEEN, " \ufeff\t"], ids=ascii)
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "\ufe621", "\ufe6bA"], ids=ascii)
def test_no_formula_hides_behind_what_nobody_sees(unseen: str, formula: str) -> None:
    """Invisible characters, which a spreadsheet may drop, do not hide the beginning of a formula; text is unchanged."""
    answer = Answer(9, 1.0, (row(unseen + formula), row(unseen + "tea"), row("1+1")))
    read = [each["value"] for each in csv.DictReader(io.StringIO(answer.to_csv(), newline=""))]
    assert read[0] == f"'{unseen}{formula}"
    assert read[1] == unseen + "tea"
    assert read[2] == "1+1"


@pytest.mark.slow
def test_json_is_the_whole_answer() -> None:
    """Every attribute of a row, the limits (null where infinite) and the intake."""
    answer = find(["tea"] * 900 + [None] * 3 + ["x" * 90] * 5, 4, seed=1)
    document = json.loads(answer.to_json())
    assert document["missing"] == 3
    assert document["other"] == 5
    assert Hitter(**document["hitters"][0]) == answer.hitters[0]
    assert json.loads(Answer(1, math.inf, ()).to_json())["detection_limit"] is None
    assert json.loads(HOSTILE_ANSWER.to_json())["hitters"][3]["value"] == HOSTILE[3]


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [2**63, 5], [2**64, 5], [1, "(other)"]])
def test_tables_have_the_rows(values: list[int | str]) -> None:
    """The same in pandas, polars and Arrow; values are numbers where all are and fit, and else text."""
    rows = (row(values[0], 900.5, ahead_of=1), row(values[1], -3.0, listed=True, stands_out=False))
    answer = Answer(10_000, 400.0, rows)
    expected = values if all(isinstance(value, int) and value < 2**64 for value in values) else list(map(str, values))
    frames = answer.to_pandas(), answer.to_polars(), answer.to_arrow()
    for frame in frames:
        columns = {
            name: frame[name].to_pylist() if hasattr(frame[name], "to_pylist") else frame[name].to_list()
            for name in ("value", "count", "listed", "stands_out", "fake_reports", "ahead_of")
        }
        assert columns["value"] == expected
        assert columns["count"] == [900.5, -3.0]
        assert columns["listed"] == [False, True]
        assert columns["stands_out"] == [True, False]
        assert columns["ahead_of"][0] == 1
    assert int(frames[0]["ahead_of"].isna().sum()) == frames[1]["ahead_of"].null_count() == 1
    assert frames[2]["ahead_of"].null_count == 1


@pytest.mark.parametrize(
    ("method", "package", "install"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "'hubbub[files]'"),
        ("plot", "matplotlib", "'hubbub[plots]'"),
    ],
)
def test_a_missing_package_is_a_sentence(method: str, package: str, install: str, monkeypatch) -> None:
    """It names what to install."""
    real = importlib.util.find_spec
    monkeypatch.setattr("hubbub.extras.find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(MissingExtra, match=rf"needs {package}; install it with: pip install {re.escape(install)}$"):
        getattr(HOSTILE_ANSWER, method)()


@pytest.mark.slow
def test_the_figure_has_bars_intervals_and_the_limit(tmp_path: Path) -> None:
    """A bar for each value at its count, whiskers from low to high, a dashed line at the limit; values as they are."""
    answer = Answer(10_000, 400.0, (row("tea", 5_000), row("$x$ <b>", 900), row("rare", -20, stands_out=False)))
    axes = answer.plot(Figure().add_subplot(), color="green")
    assert [bar.get_width() for bar in axes.patches] == [5_000, 900, 0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["tea", r"\$x\$ <b>", "rare"]
    (limit,) = (line for line in axes.lines if line.get_linestyle() == "--")
    assert list(limit.get_xdata()) == [400, 400]
    ends = axes.collections[0].get_segments() if axes.collections else []
    assert [tuple(segment[:, 0]) for segment in ends] == [(4_850, 5_150), (750, 1_050), (0, 130)]
    for kind in ("png", "svg", "pdf"):
        file = tmp_path / f"answer.{kind}"
        save_plot(replace(answer, post_processing="clip"), str(file))
        first = file.read_bytes()
        assert len(first) > 2_000
        save_plot(replace(answer, post_processing="clip"), str(file))
        assert file.read_bytes() == first
    with pytest.raises(ParameterError, match=r"must end in \.png, \.svg or \.pdf, got 'answer.gif'"):
        save_plot(answer, "answer.gif")


def test_hostile_values_can_be_drawn(tmp_path: Path) -> None:
    """None is taken for mathematics or for a mark of the format."""
    save_plot(HOSTILE_ANSWER, str(tmp_path / "answer.svg"))
    assert "<script" not in (tmp_path / "answer.svg").read_text(encoding="utf-8")
    save_plot(Answer(0, math.inf, ()), str(tmp_path / "nothing.png"))


def test_post_processing_is_by_name_and_once() -> None:
    """`none` changes nothing, `clip` cuts, `simplex` makes a crowd; intervals stay; twice is refused."""
    rows = (row("a", 8_000), row("b", 3_000), row("c", -500))
    answer = Answer(10_000, 400.0, rows, whole_list=True)
    assert answer.post_processed("none") == answer
    clipped, crowd = answer.post_processed("clip"), answer.post_processed("simplex")
    assert [each.count for each in clipped.hitters] == [8_000, 3_000, 0]
    assert [each.count for each in crowd.hitters] == pytest.approx([7_500, 2_500, 0])
    assert [each.share for each in crowd.hitters] == pytest.approx([0.75, 0.25, 0])
    for processed in (clipped, crowd):
        assert [(each.low, each.high) for each in processed.hitters] == [(each.low, each.high) for each in rows]
        with pytest.raises(ParameterError, match="must be post-processed once, got one after"):
            processed.post_processed("clip")
    assert "Counts are after simplex" in repr(crowd)
    assert json.loads(crowd.to_json())["post_processing"] == "simplex"
    with pytest.raises(ParameterError, match="must be one of none, clip, simplex, got 'sum'"):
        answer.post_processed("sum")
    few = replace(answer, hitters=rows[1:], whole_list=False).post_processed("simplex")
    assert [each.count for each in few.hitters] == [3_000, 0]  # others may hold the rest
    assert METHODS == ("none", "clip", "simplex")


@pytest.mark.parametrize("seed", range(20))
def test_simplex_is_the_nearest_crowd(seed: int) -> None:
    """No crowd is nearer: against many random ones, and against the conditions of optimality."""
    rng = np.random.default_rng(seed)
    counts = rng.normal(30, 60, 6)
    total, most = 100.0, 100.0 if seed % 2 else 40.0
    found = nearest_crowd(counts, most, total, exactly=True)
    assert found.sum() == pytest.approx(total)
    assert (found >= 0).all()
    assert (found <= most).all()
    change = counts - found
    inside = (found > 1e-9) & (found < most - 1e-9)
    if inside.any():
        common = change[inside].mean()
        assert change[inside] == pytest.approx(np.full(inside.sum(), common), abs=1e-6)
        assert (change[found <= 1e-9] <= common + 1e-6).all()
        assert (change[found >= most - 1e-9] >= common - 1e-6).all()
    for _ in range(200):
        other = rng.dirichlet(np.ones(6)) * total
        if (other <= most).all():
            assert np.sum((counts - found) ** 2) <= np.sum((counts - other) ** 2) + 1e-6


def test_estimates_are_not_post_processed() -> None:
    """An answer is unbiased: some counts of values that nobody holds are below 0."""
    answer = find(["a"] * 50, 0.5, Categories([*"abcdefgh"]), seed=1)
    assert answer.post_processing == "none"
    assert min(each.count for each in answer.hitters) < 0


def test_showing_an_answer_loads_no_library(monkeypatch) -> None:
    """Text, HTML, JSON and CSV need the standard library alone."""
    real = builtins.__import__

    def guarded(name: str, *args: object, **kwargs: object) -> object:
        """Import, but for the libraries that an answer must not need."""
        assert name.partition(".")[0] not in ("pandas", "polars", "pyarrow", "matplotlib", "rich")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert all([repr(HOSTILE_ANSWER), HOSTILE_ANSWER._repr_html_(), HOSTILE_ANSWER.to_json(), HOSTILE_ANSWER.to_csv()])


def test_what_was_not_counted_as_given_is_said() -> None:
    """Printing an answer says how many values were missing or stand for something else."""
    answer = find(["s0", "s1", "s2", None] * 300, 2, Categories(["s0", "s1"], other=False), seed=1)
    assert "300 were missing or without a person; 300 were not in the domain" in str(answer)
    assert "Of the values given" not in str(find(["s0", "s1"] * 300, 2, Categories(["s0", "s1"]), seed=1))


def test_more_values_than_slots_are_said() -> None:
    """Counts are then too low, and whoever reads the answer in Python is told."""
    persons = [person for person in range(3_000) for _ in range(3)]
    answer = find(["a", "b", "c"] * 3_000, 4, Categories(["a", "b", "c"]), persons=persons, values_per_person=2, seed=1)
    said = (
        "3,000 of 3,000 people have more than 2 values, of which 2, drawn at random, got a slot. Counts, shares and "
        "intervals are of values in slots: up to 3,000 more people than an interval says may have a value."
    )
    assert repr(answer).endswith(said)
    assert said in answer._repr_html_()
    assert said in json.loads(answer.to_json())["sentences"]


def test_named_values_that_could_not_be_seen_are_said() -> None:
    """Who has named candidates is not told to name some."""
    said = repr(Answer(2, math.inf, (), math.inf))
    assert said.endswith("Nor could a value that was named be seen. More people or a larger epsilon would help.")


def test_one_drawn_value_of_each_person_is_said() -> None:
    """Of two values of a person one is counted: every form says that counts and intervals are of drawn values."""
    values, persons = ["tea", "milk"] * 2_000 + ["tea"] * 1_000, [*np.repeat(range(2_000), 2), *range(2_000, 3_000)]
    answer = find(values, 4, Categories(["tea", "milk"]), persons=persons, seed=1)
    said = (
        "2,000 of 3,000 people have several values, of which one, drawn at random, was reported. Counts, shares and "
        "intervals are of these drawn values: up to 2,000 more people than an interval says may have a value."
    )
    (tea,) = (hitter for hitter in answer.hitters if hitter.value == "tea")
    assert tea.high < 3_000 <= tea.high + answer.intake.over  # everybody has tea
    assert said in repr(answer)
    assert said in answer._repr_html_()
    document = json.loads(answer.to_json())
    assert (document["over"], said in document["sentences"]) == (2_000, True)
    for table in (answer.to_pandas, answer.to_polars, answer.to_arrow, answer.to_csv):
        with pytest.warns(UserWarning, match="2,000 of 3,000 people have several values"):
            table()
    assert said in answer.plot(Figure().add_subplot()).get_title(loc="left").replace("\n", " ")
    once = find(["tea"] * 300, 4, Categories(["tea", "milk"]), persons=[*range(150)] * 2, seed=1)
    assert once.intake.over == 0  # the same value twice is one value
    assert "drawn" not in repr(once)


def test_values_beyond_top_are_said() -> None:
    """A search that found four and shows three says so, in every form."""
    values = [number for number in range(4) for _ in range(1_000)]
    answer = find(values, 4, Integers(16), top=3, seed=2)
    assert (len(answer.hitters), answer.not_shown) == (3, 1)
    said = "3 of 4 values that stand out are shown."
    assert said in repr(answer)
    assert said in answer._repr_html_()
    document = json.loads(answer.to_json())
    assert (document["not_shown"], said in document["sentences"]) == (1, True)
    for table in (answer.to_pandas, answer.to_polars, answer.to_arrow, answer.to_csv):
        with pytest.warns(UserWarning, match=said):
            table()
    assert said in answer.plot(Figure().add_subplot()).get_title(loc="left")
    assert answer.hitters == find(values, 4, Integers(16), top=4, seed=2).hitters[:3]
    assert find(values, 4, Integers(16), top=4, seed=2).not_shown == 0
    named = find(values, 4, Integers(16), top=1, candidates=[0, 9], all_candidates=True, seed=2)
    assert [hitter.listed for hitter in named.hitters].count(True) == 2  # all that were named, and one of the others
    assert (len(named.hitters), named.not_shown) == (3, 2)


def test_people_read_possible_counts_and_programs_the_estimates() -> None:
    """A table has no count below 0 or above all reports; JSON, CSV and frames keep the estimates."""
    rows = (row("all", 140, stands_out=True), row("none", -37, stands_out=False))
    rows = tuple(replace(each, share=each.count / 100, low=max(each.count - 9, 0), high=min(231, 100)) for each in rows)
    answer = Answer(100, 20.0, rows)
    text = repr(answer)
    assert text.splitlines()[2].split()[:3] == ["all", "100", "100.00%"]
    assert text.splitlines()[3].split()[:6] == ["none", "0", "0.00%", "0", "–", "100"]
    assert "-" not in text
    assert "-37" not in answer._repr_html_()
    assert [each["count"] for each in json.loads(answer.to_json())["hitters"]] == [140, -37]
    assert answer.to_pandas()["count"].tolist() == [140, -37]
    assert ",-37,-0.37," in answer.to_csv()


def test_halves_are_rounded_up_everywhere() -> None:
    """24.845 % is 24.85 %, and half a person is one: as people round, on every page and in every table."""
    tea = Hitter("tea", count=2.5, share=0.24845, stderr=1, low=10.5, high=24.5, confidence=0.99985)
    assert repr(Answer(10, 2.0, (tea,))).splitlines()[2].split() == [
        *("tea", "2.5", "24.85%", "11", "–", "25", "99.99%", "0"),
    ]
    shown = answer_facts(Explained(Answer(10, 2.0, (tea,)), ()))["rows"][0]
    assert (shown["share_text"], shown["between"], shown["sure"]) == ("24.85%", "11 – 25", "99.99%")


def test_candidates_that_cannot_be_held_are_said() -> None:
    """A candidate outside the domain is left out, and whoever named it is told how many there were."""
    answer = find([7] * 500, 4, Integers(6), candidates=[7, 1_000, "tea"], seed=1)
    assert answer.foreign_candidates == json.loads(answer.to_json())["foreign_candidates"] == 2
    assert "2 candidates not in the domain: left out." in repr(answer)
