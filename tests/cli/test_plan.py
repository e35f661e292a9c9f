"""`hubbub plan`: words first, tables next, JSON and a figure; and empty answers in the same words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]

POLL = ("--domain", "choices:yes,no,unsure")


def test_words_come_first(hubbub_cli: Cli) -> None:
    """The first line is the answer; the tables and the assumption of the central figure follow."""
    run = hubbub_cli("plan", "--people", "2k", "--epsilon", "1", *POLL)
    assert (run.returncode, run.stderr) == (0, "")
    first, *rest = run.stdout.splitlines()
    assert first == "With 2,000 people at ε = 1 a value is seen if about 1 in 9 hold it (with a chance of 95 %)."
    shown = "\n".join(rest)
    for part in ("not hold for live views", "files of reports", "the wire", "chance to be seen", "surveys a year"):
        assert part in shown


@pytest.mark.parametrize("share", ["0.2", "20%", "20 %", "1/5"])
def test_shares_as_people_write_them(hubbub_cli: Cli, share: str) -> None:
    """All spellings of a fifth give the same plan."""
    run = hubbub_cli("plan", "--people", "500", "--share", share, *POLL, "--json")
    document = json.loads(run.stdout)
    assert document["share"] == pytest.approx(0.2)
    assert document["solved"] == "epsilon"


def test_figure(hubbub_cli: Cli, tmp_path: Path) -> None:
    """The figure is written in the form that its name says."""
    for name, begins in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        run = hubbub_cli("plan", "-n", "500", "-e", "1", *POLL, "--plot", tmp_path / name)
        assert run.returncode == 0
        assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--people", "100"), "two of people, epsilon and share must be given, got only people"),
        (("-n", "100", "--share", "much"), "share must be a number such as 0.01, 1% or 1/100, got share='much'"),
        (("-n", "100", "--share", "1/0"), "share must be a number such as"),
        (("-n", "100", "--share", "2"), "share must be above 0 and at most 1, got share=2.0"),
        (("-n", "100", "-e", "1", "--plot", "a.gif"), "the name of a figure must end in .png, .svg or .pdf"),
        (("-n", "100", "-e", "1", "--plot", "no/such/a.png"), "the output must be in a directory that exists"),
        (("-n", "100", "-e", "1", "--candidates", "x"), "candidates"),
        (("-n", "100", "-e", "2", "--every", "1w"), "every 7 days must have at most ε = 0.528"),
        (("-n", "100", "-e", "2", "--every", "four"), "every must be a number of days or weeks such as 28d or 4w"),
        (("-n", "100", "-e", "2", "--every", "0"), "every must be a whole number of days from 1 to 366, got every=0"),
    ],
)
def test_refusals_are_one_sentence(hubbub_cli: Cli, options: tuple[str, ...], said: str) -> None:
    """Exit code 2, one sentence, nothing on stdout."""
    run = hubbub_cli("plan", *options, *POLL)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def test_what_is_proved_is_said_of_the_search_without_buckets(hubbub_cli: Cli) -> None:
    """Three sentences after the plan's own, which say of what it is proved; the same and the numbers in JSON."""
    options = ("plan", "-n", "100k", "-e", "1", "--domain", "integers:32", "--proved")
    made = json.loads(hubbub_cli(*options, "--json").stdout)
    proved = made["proved"]
    assert (proved["people"], proved["bits"], proved["beta"]) == (100_000, 32, 0.05)
    assert proved["converse"] < proved["exhaustive"] < proved["alpha"] == 5_883  # as the table of the page
    run = hubbub_cli(*options)
    assert (run.returncode, run.stderr) == (0, "")
    shown = run.stdout.splitlines()
    first = shown.index(proved["words"][0])
    assert shown[first : first + 3] == proved["words"]
    assert shown[first - 1] == made["words"][-1]
    assert "without hashed buckets" in shown[first]
    assert "at most 5,883 holders fewer" in shown[first]
    assert "measured, not proved" in shown[first + 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-n", "500", "-e", "1", *POLL), "the mechanism must be tree for its theorems to apply, got 'subset'"),
        (
            ("-n", "2k", "-e", "1", "--domain", "integers:64"),
            "people must be more for a bound to exist, got people=2000",
        ),
        (
            ("-n", "100k", "-e", "1", "--domain", "integers:64", "--values-per-person", "2"),
            "everybody must have one value, got values_per_person=2",
        ),
        (("-n", "50", "--share", "0.01", *POLL), "people and ε must be known, got a plan for which none is enough"),
    ],
)
def test_a_plan_without_a_proved_bound_says_why(hubbub_cli: Cli, options: tuple[str, ...], said: str) -> None:
    """One sentence in the place of three, and no numbers in JSON; the plan itself is as usual."""
    run = hubbub_cli("plan", *options, "--proved", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    proved = json.loads(run.stdout)["proved"]
    assert proved.pop("words") == [f"There is no proved bound for this plan: {said}."]
    assert set(proved.values()) == {None}


@pytest.mark.slow
def test_an_empty_answer_says_what_was_needed(hubbub_cli: Cli, tmp_path: Path) -> None:
    """`find` says what it would have taken if nothing stands out, and only then."""
    few, many = tmp_path / "few.txt", tmp_path / "many.txt"
    few.write_text("\n".join(map(str, range(40))))
    many.write_text("\n".join(["7"] * 3_000))
    empty = hubbub_cli("find", few, "--domain", "integers:12", "--seed", "1").stdout
    assert "Nothing stands out." in empty
    assert "To see a value that" in empty
    assert "people at ε = 1" in empty
    assert "To see a value that" not in hubbub_cli("find", many, "--domain", "integers:12", "--seed", "1").stdout


def test_compare_says_what_is_recommended(hubbub_cli: Cli, tmp_path: Path) -> None:
    """A file is compared like a crowd that was made up: a table, a figure, and one sentence that names the best."""
    file = tmp_path / "votes.txt"
    file.write_text("yes\n" * 600 + "no\n" * 300 + "unsure\n" * 100)
    options = ("--domain", "choices:yes,no,unsure", "--mechanisms", "subset,jl", "--epsilons", "1,2", "--top", "2")
    run = hubbub_cli("compare", file, *options, "--seed", "1", "--plot", tmp_path / "f1.png")
    assert (run.returncode, run.stderr) == (0, "")
    assert "Recommended: " in run.stdout
    assert (tmp_path / "f1.png").stat().st_size > 1_000
    document = json.loads(hubbub_cli("compare", file, *options, "--seed", "1", "--json").stdout)
    assert len(document["rows"]) == 4
    assert document["recommended"] in ("subset", "jl")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "a comparison must have a FILE or --zipf, got neither"),
        (("x.txt", "--zipf", "1"), "got both"),
        (("--zipf", "1", "--domain", "hostnames"), "--domain must come with a FILE, got domain='hostnames'"),
        (("--zipf", "1", "--column", "site"), "--column must come with a FILE, got column='site'"),
        (("--zipf", "1", "--epsilons", "1,no"), "epsilon must be a number"),
        (("--zipf", "1", "--mechanisms", "none"), "mechanism must be one of"),
        (("no-such-file.txt",), "cannot read 'no-such-file.txt': no such file"),
    ],
)
def test_compare_refuses_in_one_sentence(hubbub_cli: Cli, options: tuple[str, ...], said: str) -> None:
    """Exit code 2, one sentence, nothing on stdout."""
    run = hubbub_cli("compare", *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_plan_says_what_a_year_costs(hubbub_cli: Cli) -> None:
    """If the survey repeats, and the budget carries it."""
    made = json.loads(hubbub_cli("plan", "-n", "500", "-e", "2", "--every", "4w", *POLL, "--json").stdout)
    assert made["every"] == 28
    said = "It is asked every 28 days: a browser that stays a year answers up to 14 times and spends ε = 28 in all."
    assert said in made["words"]


def test_a_plan_says_its_language(hubbub_cli: Cli) -> None:
    """Plans of words differ by their language: in words, with a long word of it, and in JSON."""
    for domain, values, example in (
        ("words", "words", "thunderstorm"),
        ("words:en", "words, in the code for English", "caterpillars"),
        ("words:de", "words, in the code for German", "krankenschwester"),
    ):
        made = json.loads(hubbub_cli("plan", "-n", "3k", "-e", "4", "--domain", domain, "--json").stdout)
        assert f"The values: {values}." in made["words"]
        assert any(said.startswith(f"A long one, such as {example}, must be held") for said in made["words"])
        code = f"code words-{domain[-2:]}, " if ":" in domain else ""
        assert made["domain"] == f"CodedText(words-1, {code}160 bits)"


def test_long_ones_that_cannot_be_seen_are_said(hubbub_cli: Cli) -> None:
    """With too few people for a long text the plan says so: null alone could mean that no text is long."""
    few = json.loads(hubbub_cli("plan", "-n", "200", "-e", "1", "--domain", "words:de", "--json").stdout)
    assert (few["long_share"], few["out_of_reach"]) == (None, ["long_share"])
    assert "A long one, such as krankenschwester, would not be seen, even if all held it." in few["words"]
    poll = json.loads(hubbub_cli("plan", "-n", "500", "-e", "1", *POLL, "--json").stdout)
    assert (poll["long_share"], poll["out_of_reach"]) == (None, [])


def test_compare_says_what_it_did_not_keep(hubbub_cli: Cli, tmp_path: Path) -> None:
    """Rows without a value and values that the domain lacks are counted."""
    (tmp_path / "people.csv").write_text("drink\n" + "tea\n" * 300 + '""\n' * 3 + "milk\n" * 5)
    (tmp_path / "names.txt").write_text("tea\ncoffee\n")
    options = ("compare", tmp_path / "people.csv", "--domain", f"categories:{tmp_path / 'names.txt'}")
    options += ("--epsilons", "1", "--mechanisms", "subset", "--seed", "1")
    lost = json.loads(hubbub_cli(*options, "--json").stdout)
    assert (lost["missing"], lost["cut"], lost["other"]) == (3, 0, 5)
    shown = " ".join(hubbub_cli(*options).stdout.split())
    assert "3 were missing or without a person; 5 were not in the domain" in shown
