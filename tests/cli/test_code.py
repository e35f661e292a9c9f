"""`hubbub code`, and the domains that use a code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.reference.text_code import DATA

from hubbub.cli.domains import parse_domain
from hubbub.codes.shipped import LANGUAGES, load_code
from hubbub.codes.text_code import TextCode
from hubbub.errors import HubbubError, InputError
from hubbub.model.coded_domain import WIDTHS, CodedText, Hostnames, Text, Words
from hubbub.model.domain import Bytes, Categories, Hex, Integers, IPv4, UUIDs, domain_from_json

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A small file of words with weights."""
    path = tmp_path / "words.txt"
    stems = {"walk": 1, "talk": 2, "look": 3, "jump": 4, "play": 5}
    ends = ("", "s", "ed", "ing")
    path.write_text("".join(f"{stem}{end}\t{weight}\n" for stem, weight in stems.items() for end in ends))
    return path


def test_fit_and_measure(hubbub_cli: Run, words: Path, tmp_path: Path) -> None:
    """A code is fitted, written, measured and used as a domain; nothing else is left in its folder."""
    output = tmp_path / "code.json"
    done = hubbub_cli("code", "fit", words, "-o", output, "--kind", "words")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bits a string on the 20 it was fitted to" in done.stdout
    code = TextCode.from_json(output.read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code.json", "words.txt"]
    measured = json.loads(hubbub_cli("code", "measure", output, words, "--kind", "words", "--json").stdout)
    assert measured["strings"] == 20
    assert measured["mean"] < 16
    assert measured["share_escaping"] == 0
    assert parse_domain(f"words:{output}") == CodedText(code, "words-1", WIDTHS["words-1"])
    assert parse_domain(f"code:{output}") == CodedText(code, "text-1", WIDTHS["text-1"])
    assert parse_domain(f"hostnames:{output}") == CodedText(code, "hostnames-2", WIDTHS["hostnames-2"])


def test_measure_what_ships(hubbub_cli: Run) -> None:
    """The shipped code of hosts on popular hosts: the numbers of docs/text-codes.md."""
    done = hubbub_cli("code", "measure", "hostnames", DATA / "popular_hosts.tsv", "--json")
    measured = json.loads(done.stdout)
    assert measured["strings"] == 499  # m.wikipedia.org is wikipedia.org
    assert measured["mean"] <= 40
    assert measured["weighted_mean"] <= 40
    assert measured["p50"] <= measured["p90"] <= 60
    assert (measured["width"], measured["share_within_width"], measured["skipped"]) == (WIDTHS["hostnames-2"], 1.0, 0)
    assert "popular_hosts" not in hubbub_cli("code", "measure", "hostnames", DATA / "popular_hosts.tsv").stdout


def test_table(hubbub_cli: Run, tmp_path: Path) -> None:
    """People get a table, and are told of lines that were nothing."""
    path = tmp_path / "hosts.txt"
    path.write_text("https://www.example.org/a\nexample.com\r\n\nno host here\n")
    done = hubbub_cli("code", "measure", "hostnames", path)
    assert done.returncode == 0
    assert "hostnames on 2 strings" in done.stdout
    assert "1 line skipped: not hostnames." in done.stdout


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (None, (), "cannot read the strings in "),
        ("", (), "the file must have at least 1 of the text, got none"),
        ("a\tb\n", (), "a weight must be a number above 0, got 'b' in line 1"),
        ("a\t1\nb\t-1\n", (), "got '-1' in line 2"),
        ("a\tnan\n", (), "got 'nan' in line 1"),
        ("two words\n", ("--kind", "hostnames"), "at least 1 of the hostnames"),
    ],
)
def test_bad_strings(
    hubbub_cli: Run, tmp_path: Path, content: str | None, arguments: tuple[str, ...], said: str
) -> None:
    """A file that cannot be used is one sentence and exit code 2, and nothing is written."""
    path, output = tmp_path / "strings.txt", tmp_path / "code.json"
    if content is not None:
        path.write_text(content)
    done = hubbub_cli("code", "fit", path, "-o", output, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hubbub: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not output.exists()


def test_bad_codes_and_outputs(hubbub_cli: Run, words: Path, tmp_path: Path) -> None:
    """So is a table that is none, and an output that cannot be."""
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    for arguments, said in [
        (("measure", broken, words), "a code has the fields"),
        (("measure", tmp_path / "none.json", words), "cannot read the code "),
        (("measure", tmp_path, words), "cannot read the code "),
        (("fit", words, "-o", tmp_path / "no" / "code.json"), "the output must be in a directory that exists"),
        (("fit", words, "-o", tmp_path), "the output must be a file, got"),
    ]:
        done = hubbub_cli("code", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.json", "words.txt"]


def test_domains() -> None:
    """Every way to write a domain."""
    assert parse_domain("hostnames") == Hostnames()
    assert parse_domain("words") == Words()
    assert parse_domain("words:de") == Words("de") != Words()
    assert parse_domain("text") == Text() == CodedText(load_code("text"), "text-1", WIDTHS["text-1"])
    assert parse_domain("bytes:24") == Bytes(24)
    assert parse_domain("choices:yes, no") == Categories(["yes", "no"], other=False)
    assert parse_domain("integers:64") == Integers(64)
    assert parse_domain("ipv4") == IPv4()
    assert parse_domain("hex:40") == Hex(40)
    assert parse_domain("uuid") == UUIDs() != Hex(32)


def test_words_of_a_language_are_called_so() -> None:
    """Each language has its name, and a long word of its own: of about the 48 bits that its limit is for."""
    assert Words().described == "words"
    assert Words("de").described == "words, in the code for German"
    read_back = domain_from_json(Words("pt").to_json())
    assert (read_back.described, read_back.long_example) == ("words, in the code for Portuguese", "saca-rolhas")
    for language in LANGUAGES:
        domain = Words(language)
        assert abs((domain.code_length(domain.long_example) or 0) - 48) <= 4


def test_text_with_a_number_names_bytes() -> None:
    """Text has no size; who gives one wants raw bytes."""
    with pytest.raises(HubbubError, match="raw text bytes:24, got domain='text:24'"):
        parse_domain("text:24")


def test_a_language_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known language wins over a file of its name; what is neither gets the list of languages."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "de").write_text(json.dumps(load_code("words-tr").to_json()))
    assert parse_domain("words:de") == Words("de")
    assert parse_domain("words:./de") == Words("tr")
    with pytest.raises(
        InputError, match=r"words:LANGUAGE \(de, en, es, fr, it, nl, pl, pt, sv, tr\) or words:FILE; .*'xx'"
    ):
        parse_domain("words:xx")


def test_measure_a_language(hubbub_cli: Run, words: Path) -> None:
    """The codes of languages have names too, and the rules of words."""
    measured = json.loads(hubbub_cli("code", "measure", "words-en", words, "--json").stdout)
    assert (measured["kind"], measured["width"]) == ("words", WIDTHS["words-1"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "code",
        "code:",
        "words:",
        "text:",
        "integers",
        "ipv4:",
        "ipv6",
        "hex",
        "hex:129",
        "uuid:",
        "hostnames:no/such/file",
        "text:x",
        "bytes:x",
        "choices:",
        "choices:a",
        "choices:a,,b",
    ],
)
def test_bad_domains(text: str) -> None:
    """What is no domain is refused."""
    with pytest.raises(HubbubError, match=r"^(cannot read the code |(domain|a domain) .*must (be|have))"):
        parse_domain(text)


@pytest.mark.slow
def test_find_hosts(hubbub_cli: Run, tmp_path: Path) -> None:
    """The whole protocol with coded hosts: URLs go in, a host comes out."""
    path = tmp_path / "referrers.txt"
    path.write_text("https://www.example.org/page\n" * 3000 + "http://example.com\n" * 20)
    done = hubbub_cli("find", path, "--domain", "hostnames", "-e", "6", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hitters"][0]["value"] == "example.org"
