"""The documentation, held to what the code does: blocks run, commands run, links resolve, bytes are recomputed."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import typer
from tests.reference import naive
from typer.testing import CliRunner

from hubbub import Bytes, Hostnames, Integers, ReplayedWords, SeededWords, create_survey, mechanism_for
from hubbub.cli.main import app
from hubbub.codes.shipped import load_code
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.mechanisms.registry import REGISTRY
from hubbub.mechanisms.tree.paths import TextPaths
from hubbub.model.coded_domain import CodedText
from hubbub.numeric.hashing import Purpose, derive_key, hash_uint64
from hubbub.paper.run import STUDIES
from hubbub.store.reports import Batch, append
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token
from hubbub.wire.report_batch import encode_batch

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COMMANDS = DOCS / "commands.md"
BUILT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = sorted([*(ROOT / name for name in BUILT), *DOCS.rglob("*.md")])


class Block(NamedTuple):
    """A fenced block: its language, its text, and whether it follows the block before it with nothing between."""

    language: str
    text: str
    follows: bool


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found, end = [], 0
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found.append(Block(match[1], match[2], bool(found) and not text[end : match.start()].strip()))
        end = match.end()
    return found


def label(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


# (a) Python blocks.


def with_python() -> list[Path]:
    """The pages that have a Python block."""
    return [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


def test_there_are_python_blocks() -> None:
    """The README and the page of commands have Python to run, so that an empty suite cannot pass."""
    assert {"README.md", "docs/commands.md"} <= {label(page) for page in with_python()}


@pytest.mark.parametrize("page", with_python(), ids=label)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, in order, in one fresh namespace; a text block right after it is what it prints."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block.text, label(page), "exec"), namespace)  # noqa: S102  # our own documentation
            printed = output.getvalue()
        elif block.language == "text" and block.follows and printed:
            assert printed == block.text
            printed = ""


def test_readme_example_finds_the_sites(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's example is at most 12 lines and prints all three sites with intervals, the largest first."""
    example = next(block.text for block in blocks(ROOT / "README.md") if block.language == "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["search.example", "news.example", "blog.example"]
    assert all("between" in line for line in lines[:3])


def test_example_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """examples/referrers.py prints the largest site first."""
    runpy.run_path(str(ROOT / "examples" / "referrers.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[1].startswith("search.example")


# (b) Commands in console blocks.


def leaves(group, path: str = "") -> dict[str, object]:
    """All commands below a group, by their names with blanks between."""
    found: dict[str, object] = {}
    for name, command in group.commands.items():
        found |= leaves(command, f"{path}{name} ") if hasattr(command, "commands") else {path + name: command}
    return found


COMMAND_LINE = leaves(typer.main.get_command(app))


class Shown(NamedTuple):
    """A command in a console block, and the output shown below it."""

    command: str
    output: tuple[str, ...]


def shown_commands(page: Path) -> list[list[Shown]]:
    """For every console or sh block, its lines that start with "$ ", each with the lines that follow it."""
    found = []
    for block in blocks(page):
        if block.language in ("console", "sh"):
            parts = [part.splitlines() for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]]
            found.append([Shown(command, tuple(output)) for command, *output in parts])
    return found


SESSIONS = [
    pytest.param(session, id=f"{label(page)}: {session[0].command}")
    for page in PAGES
    for session in shown_commands(page)
    if session[0].command.startswith("hubbub")
]
OTHERS = [
    shown
    for page in PAGES
    for session in shown_commands(page)
    for shown in session
    if not shown.command.startswith("hubbub")
]


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sample files, made by the block of docs/commands.md that makes them."""
    monkeypatch.chdir(tmp_path)
    exec(next(block.text for block in blocks(COMMANDS) if block.language == "python"), {})  # noqa: S102
    assert {path.name for path in tmp_path.iterdir()} == {
        *("referrers.txt", "visits.csv", "visits.jsonl", "countries.txt", "sites.txt")
    }
    return tmp_path


@pytest.fixture
def collector(samples: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A collector with a survey, $SURVEY, and the reports of referrers.txt; and a ledger for the device."""
    monkeypatch.setenv("XDG_STATE_HOME", str(samples.with_name(samples.name + "-state")))
    monkeypatch.setenv("no_proxy", "*")
    survey = create_survey("referrers", Hostnames(), 1, public_seed=SEED)
    database = str(samples / "running.db")
    with Store(database) as store:
        stored = store.add_survey(survey)
        items = survey.domain.encode((samples / "referrers.txt").read_text().splitlines())
        append(store.engine, [Batch(stored.key, stored.mechanism.randomize(items, SeededWords(1).draw(len(items), 4)))])
        monkeypatch.setenv("HUBBUB_TOKEN", replace_token(store.engine))
        monkeypatch.setenv("HUBBUB_DB", database)
        with serving(Collector(store)) as url:
            monkeypatch.setenv("HUBBUB_SERVER", url)
            monkeypatch.setenv("SURVEY", f"{url}/v1/surveys/{survey.survey_id.hex()}")
            yield


def as_documented(printed: str) -> str:
    """What was printed, with the address and the ids that the documentation writes."""
    server = os.environ.get("HUBBUB_SERVER", "http://127.0.0.1:8000")
    return re.sub(r"/v1/surveys/[0-9a-f]{64}", "/v1/surveys/ID", printed.replace(server, "http://127.0.0.1:8000"))


def run_server(arguments: list[str]) -> str:
    """Run `hubbub serve` as a process of its own, on a port that is free, until it listens; what it prints."""
    command = [sys.executable, "-m", "hubbub", *arguments, "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "HUBBUB_DB"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        printed = ""
        while "Listening" not in printed and (line := process.stdout.readline()):
            printed += line
        process.terminate()
    assert "Listening" in printed
    return printed


def run_command(command: str) -> str:
    """Run a hubbub command line in this process and return what it prints."""
    name, *arguments = shlex.split(os.path.expandvars(command))
    assert name == "hubbub"
    if arguments[0] == "serve" and "--help" not in arguments:
        return run_server(arguments)
    given = None
    if "<" in arguments:
        *arguments, _, file = arguments
        given = Path(file).read_bytes()
    result = CliRunner().invoke(app, arguments, input=given)
    assert result.exit_code == 0, f"{command}: exit code {result.exit_code}\n{result.output}"
    return as_documented(result.stdout)


def squeezed(line: str) -> str:
    """A line without the blanks that only lay it out."""
    return " ".join(line.split())


def test_there_are_commands() -> None:
    """Every command of the command line is shown somewhere, so that an empty suite cannot pass."""
    shown = " ".join(each.command for session in SESSIONS for each in session.values[0])
    assert all(f"hubbub {name} " in f"{shown} " for name in COMMAND_LINE)


@pytest.mark.parametrize("session", SESSIONS)
def test_commands_run(session: list[Shown], request: pytest.FixtureRequest) -> None:
    """Every hubbub command exits with 0 and prints the lines shown, in order; "…" stands for what is left out."""
    needs_collector = any(re.match("hubbub (survey|hitters|store|report|ledger)", shown.command) for shown in session)
    request.getfixturevalue("collector" if needs_collector else "samples")
    for shown in session:
        printed = iter([squeezed(line) for line in run_command(shown.command).splitlines()])
        for line in (squeezed(line) for line in shown.output):
            if line not in ("", "…"):
                start, cut, _ = line.partition(" …")
                match = str.startswith if cut else str.__eq__
                assert any(match(real, start) for real in printed), f"{shown.command} does not print {line!r} here"


def test_other_commands_are_make_targets() -> None:
    """Every other command is `make TARGET`, and the Makefile has the target."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert OTHERS
    for shown in OTHERS:
        words = shlex.split(shown.command, comments=True)
        assert words[0] == "make", shown.command
        assert set(words[1:]) <= set(targets), shown.command


def test_console_script_is_installed() -> None:
    """`hubbub` and `python -m hubbub` are the command line that the documentation speaks of."""
    for command in ([str(Path(sys.executable).with_name("hubbub"))], [sys.executable, "-m", "hubbub"]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert re.fullmatch(r"hubbub \d+\.\d+\.\d+\n", result.stdout)


# (c) The page of commands.


def section(name: str) -> str:
    """The section of docs/commands.md about a command."""
    text = COMMANDS.read_text(encoding="utf-8")
    match = re.search(rf"^## `hubbub {name}`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"docs/commands.md has no section about hubbub {name}"
    return match[1]


@pytest.mark.parametrize("name", COMMAND_LINE)
def test_every_option_is_documented(name: str) -> None:
    """Each option that `hubbub COMMAND --help` lists is in the command's section, and no other is in its table."""
    shown = run_command(f"hubbub {name} --help")
    options = {option for param in COMMAND_LINE[name].params for option in param.opts if option.startswith("-")}
    assert all(re.search(rf"(?<![\w-]){option}\b", shown) for option in options)
    listed = re.findall(r"^\| (`-[^|]*) \|", section(name), re.MULTILINE)
    documented = {option.split()[0] for cell in listed for option in re.findall(r"`(-[^`]*)`", cell)}
    assert documented == options


def test_top_level_options_are_documented() -> None:
    """The options of `hubbub` itself are on the page too."""
    text = COMMANDS.read_text(encoding="utf-8")
    for option in re.findall(r"(?<![\w-])--?[a-z]+", run_command("hubbub --help").partition("Options:")[2]):
        assert f"`{option}`" in text


def fields(value: object, path: str = "") -> set[str]:
    """The paths of all fields of a JSON document, with [] for the elements of a list; surveys are not entered."""
    if isinstance(value, list):
        return set().union(*(fields(each, f"{path}[]") for each in value))
    if not isinstance(value, dict) or path in ("survey", "options"):
        return {path}
    return set().union(*(fields(each, f"{path}.{name}".lstrip(".")) for name, each in value.items()))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("find", "find visits.csv --column country --domain categories:countries.txt --truth --json --seed 1"),
        ("simulate", "simulate -m bucket -n 8000 --bits 32 --heavy 0.5 --json --seed 1"),
        ("mechanisms", "mechanisms --json"),
        ("paper", "paper --quick --only error-against-universe --jobs 1 --out report --json"),
        ("code measure", "code measure own.json countries.txt --kind words --json"),
        ("report", 'report news.example --survey "$SURVEY" --json'),
        ("ledger show", "ledger show --json"),
    ],
)
def test_json_fields_are_documented(name: str, command: str, request: pytest.FixtureRequest) -> None:
    """The table of JSON fields is the set of fields that the command prints."""
    request.getfixturevalue("collector" if name in ("report", "ledger show") else "samples")
    if "own.json" in command:
        run_command("hubbub code fit countries.txt --output own.json --kind words")
    if name == "ledger show":
        run_command('hubbub report news.example --survey "$SURVEY"')
    printed = fields(json.loads(run_command(f"hubbub {command}")))
    table = section(name).partition("### JSON")[2]
    assert set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == printed


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(
    "command",
    [
        "survey list",
        'survey show --survey "$SURVEY"',
        'hitters --survey "$SURVEY" --top 3',
        "store check",
        "store backup copy.db",
        "store token",
    ],
)
def test_json_fields_of_the_service_are_documented(command: str) -> None:
    """The same for the commands of a collector."""
    name = re.match(r"(hitters|[a-z]+ [a-z]+)", command)[1]
    printed = fields(json.loads(run_command(f"hubbub {command} --json")))
    table = set(re.findall(r"^\| `([^`]+)` \|", section(name).partition("### JSON")[2], re.MULTILINE))
    # A list that is empty has no elements to see.
    assert table == printed | ({"problems[]"} if name == "store check" else set())


def test_problems_are_documented() -> None:
    """The table of problems has every kind, with its status."""
    from hubbub.collector.problems import TITLES

    text = (DOCS / "http-api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", text, re.MULTILINE)
    assert {kind: int(status) for kind, status in listed} == {kind: status for kind, (status, _) in TITLES.items()}


def test_exit_codes_are_as_documented() -> None:
    """A refusal is one sentence on standard error and exit code 2."""
    result = CliRunner().invoke(app, ["find", "no-such-file.txt"])
    assert result.exit_code == 2
    assert result.stderr == "hubbub: the file must exist, got 'no-such-file.txt'\n"
    assert result.stderr.strip() in COMMANDS.read_text(encoding="utf-8")


# (d) The worked example of the wire format, by the library and by a second implementation written from the page.

SEED = bytes(range(32))
ID = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
LIE = 2**64 - 1
SPREAD = [(k * 0x9E3779B97F4A7C15) % 2**64 for k in range(26)]


def little(*words: int) -> str:
    """64-bit words as they are on the wire, in hex."""
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


def derived(purpose: int) -> bytes:
    """The key of a purpose."""
    return naive.half_sip_hash(SEED[:8], purpose.to_bytes(4, "little") + SEED[8:])


def hashed(purpose: int, *message: int) -> int:
    """The public hash of 32-bit words."""
    raw = b"".join(word.to_bytes(4, "little") for word in message)
    return int.from_bytes(naive.half_sip_hash(derived(purpose), raw), "little")


def below(value: int, bound: int) -> int:
    """uniform_below."""
    return value * bound >> 64


def bucket_trial(trial: int) -> list[int]:
    """The 12 rows of a trial over items of 8 bits."""
    for attempt in range(100):
        drawn = [hashed(4, trial, attempt, row, 0) % 2**8 for row in range(12)]
        if all(drawn) and naive.rank(drawn) == 8:
            return drawn
    raise AssertionError("no trial of full rank")


def digit_threshold(rate: int, digit: int) -> int:
    """The chance that a binary digit of a geometric variable is 1, times 2^64, to the nearest whole number."""
    with localcontext(Context(prec=80)):
        power = Decimal(-rate * 2**digit).exp()
        return int((power / (1 + power) * 2**64).to_integral_value())


TREE = {
    "bucket_bits": 16,
    "depths": [20, 24, 24, 24],
    "chunks": [0, 4, 4, 4],
    "ends": [4194304, 8388608, 12582912, 16777216],
    "masks": 3,
    "keep_threshold": str(2**63),
}


def tree_from_the_page() -> dict[str, str]:
    """The lines about tree."""
    path = naive.to_path(derived(6), 5, 24)
    rows = list(enumerate(zip(TREE["depths"], TREE["chunks"], strict=True)))
    buckets = [naive.tree_bucket(derived(8), path, row, depth, chunk, 16) for row, (depth, chunk) in rows]
    row, masks = naive.tree_coins(derived(7), bytes.fromhex(little(*ID)), TREE["ends"], 3, 16)
    told, other = (naive.tree_symbol(buckets[row], masks, word, SPREAD[1], 2**63) for word in (0, LIE))
    cells = {(row << 16) + place: sign for place, sign in naive.tree_tally(told, masks).items()}
    cells[(4 << 16) + row] = 1
    return {
        "tree path": f"{int(path, 2):06x}",
        "tree buckets": " ".join(f"{bucket:04x}" for bucket in buckets),
        **{
            f"tree path of coded text, fingerprint_bits {bits}": naive.text_path(derived(9), 0x123456789A, 40, bits)
            for bits in (3, 10, 16)
        },
        "tree row of the id": str(row),
        "tree report, third word 0": little(*ID) + bytes([told]).hex(),
        "tree report, third word 2^64-1, fourth 0x9e3779b97f4a7c15": little(*ID) + bytes([other]).hex(),
        "tree cells": " ".join(f"{place}:{added}" for place, added in sorted(cells.items())),
    }


def coded_path(item: int, width: int, fingerprint: int) -> str:
    """The bits of a path of coded text, by the library."""
    key = derive_key(SEED, Purpose.TREE_FINGERPRINT)
    codec = TextPaths(key, CodedText(load_code("text"), "text-1", width), fingerprint)
    path = codec.to_paths(np.array([[item]], np.uint64))
    return "".join(f"{word:064b}" for word in path[0].tolist())[: codec.bits]


def tree_from_the_library() -> dict[str, str]:
    """The lines about tree."""
    survey = create_survey("tree", Integers(24), 3, public_seed=SEED)
    tree = mechanism_for(replace(survey, parameters={**survey.parameters, **TREE}))
    five = survey.domain.encode([5])
    path = tree.paths(five)
    told, other = (tree.randomize(five, np.array([[*ID, word, SPREAD[1]]], np.uint64)) for word in (0, LIE))
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, told)
    return {
        "tree path": f"{int(path[0, 0]) >> 40:06x}",
        "tree buckets": " ".join(f"{bucket:04x}" for bucket in tree.buckets(path)[0].tolist()),
        **{
            f"tree path of coded text, fingerprint_bits {bits}": coded_path(0x123456789A, 40, bits)
            for bits in (3, 10, 16)
        },
        "tree row of the id": str(np.flatnonzero(cells[4 << 16 :])[0]),
        "tree report, third word 0": told.tobytes().hex(),
        "tree report, third word 2^64-1, fourth 0x9e3779b97f4a7c15": other.tobytes().hex(),
        "tree cells": " ".join(f"{place}:{cells[place]}" for place in np.flatnonzero(cells)),
    }


def glps_from_the_page() -> dict[str, str]:
    """The lines about glps."""
    slots = naive.sparse_slots([derived(purpose) for purpose in (10, 11, 12)], 8, 2, 7, [(2, 22, 4)])
    coin = hashed(1, ID[0] % 2**32, ID[0] >> 32, ID[1] % 2**32, ID[1] >> 32)
    slot = below(coin, len(slots))
    cell = sum(1 << len(rows) for rows, _ in slots[:slot]) + coin % (1 << len(slots[slot][0]))
    bit = naive.parity(naive.sparse_character(slots, cell), 5)
    column = naive.sparse_column(slots, 5)
    return {
        "glps slots and cells": f"{len(slots)} {sum(1 << len(rows) for rows, _ in slots)}",
        "glps bucket rows of block 0": " ".join(f"{row:02x}" for row in slots[0][0]),
        "sha256 of all glps sign rows": hashlib.sha256(bytes(sign for _, sign in slots)).hexdigest(),
        "glps entries of slots 0 to 3": " ".join(f"{place}:{entry}" for place, entry in list(column.items())[:4]),
        "glps cell of the id": str(cell),
        "glps report, third word 0": little(*ID) + bytes([bit]).hex(),
    }


def glps_from_the_library() -> dict[str, str]:
    """The lines about glps."""
    options = {"layout": "staged", "sparsity": 1}
    survey = create_survey("glps", Integers(8), 1, mechanism="glps", options=options, public_seed=SEED)
    glps = mechanism_for(survey)
    five = survey.domain.encode([5])
    cells, entries = glps.operator.columns(five)
    return {
        "glps slots and cells": f"{glps.layout.slots} {glps.layout.cells}",
        "glps bucket rows of block 0": " ".join(f"{row:02x}" for row in glps.operator.bucket_rows[:2, 0].tolist()),
        "sha256 of all glps sign rows": hashlib.sha256(
            glps.operator.sign_rows[:, 0].astype(np.uint8).tobytes()
        ).hexdigest(),
        "glps entries of slots 0 to 3": " ".join(f"{cells[0, j]}:{entries[0, j]}" for j in range(4)),
        "glps cell of the id": str(glps.channel.rows_of(np.array([ID], np.uint64))[0]),
        "glps report, third word 0": glps.randomize(five, np.array([[*ID, 0]], np.uint64)).tobytes().hex(),
    }


def from_the_page() -> dict[str, str]:
    """The worked example from the rules that docs/wire-format.md states, without the library."""
    truth_threshold = 13485650502877570762
    survey = {
        "version": 1,
        "name": "referrers",
        "domain": {"kind": "integers", "bits": 16},
        "epsilon": "1",
        "delta": "0",
        "mechanism": "jl",
        "options": {"calibration": "onebit", "projection": "hadamard"},
        "parameters": {"rows": 65536, "truth_threshold": str(truth_threshold)},
        "public_seed": SEED.hex(),
        "expected_reports": 100000,
        "opens": None,
        "closes": None,
    }
    canonical = json.dumps(survey, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    survey_id = hashlib.sha256(canonical.encode()).hexdigest()
    coin = hashed(1, ID[0] % 2**32, ID[0] >> 32, ID[1] % 2**32, ID[1] >> 32)
    row = below(coin, 65536)
    sign = naive.parity(5, row)
    lie = little(*ID) + bytes([sign ^ (truth_threshold <= LIE)]).hex()
    place = below(coin, 228)
    bit = naive.parity(5, bucket_trial(place // 12)[place % 12]) ^ hashed(5, place) & 1
    thresholds = [digit_threshold(1, digit) for digit in range(6)]
    answers = naive.add_noise([0, 1], SPREAD[2:], thresholds)
    return {
        "survey": canonical,
        "survey_id": survey_id,
        **{f"key of purpose {purpose}": derived(purpose).hex() for purpose in range(1, 13)},
        "item of 5": little(5),
        "item of U+0065 U+0301, bytes:8": little(int.from_bytes("\u00e9".encode(), "little")),
        "id": little(*ID),
        "hash of the id": f"{coin:016x}",
        "jl row of the id": str(row),
        "jl sign bit": str(sign),
        "jl report, third word 0": little(*ID) + bytes([sign]).hex(),
        "jl report, third word 2^64-1": lie,
        "batch of the latter": "01" + survey_id + lie,
        "dense sign bit of row 70": str(hashed(2, 5, 0, 1) >> 6 & 1),
        "first of fewer hadamard rows": str(below(hashed(3, 0, 0), 65536)),
        "bucket trial 0": " ".join(f"{each:02x}" for each in bucket_trial(0)),
        "sha256 of all bucket rows": hashlib.sha256(
            bytes(row for trial in range(19) for row in bucket_trial(trial))
        ).hexdigest(),
        "bucket shifts of trial 0": "".join(str(hashed(5, each) & 1) for each in range(12)),
        "bucket row of the id": str(place),
        "bucket report, third word 0": little(*ID) + bytes([bit]).hex(),
        "laplace digit thresholds": " ".join(map(str, thresholds)),
        "laplace answers": " ".join(map(str, answers)),
        "laplace report": little(*SPREAD[:2]) + b"".join(a.to_bytes(1, "little", signed=True) for a in answers).hex(),
        **tree_from_the_page(),
        **glps_from_the_page(),
    }


def from_the_library() -> dict[str, str]:
    """The worked example from the library."""
    survey = create_survey("referrers", Integers(16), 1, mechanism="jl", public_seed=SEED)
    jl = mechanism_for(survey)
    five = survey.domain.encode([5])
    told, lied = (jl.randomize(five, np.array([[*ID, word]], np.uint64)) for word in (0, LIE))
    coin = hash_uint64(derive_key(SEED, Purpose.REPORT_ROW), np.array([ID], np.uint64))
    signs = {"mechanism": "jl", "options": {"projection": "dense"}, "public_seed": SEED}
    dense = mechanism_for(create_survey("dense", Integers(8), 1, **signs))
    fewer = {"mechanism": "jl", "options": {"calibration": "tight"}, "expected_reports": 100, "public_seed": SEED}
    bucket = mechanism_for(create_survey("bucket", Integers(8), 1, mechanism="bucket", public_seed=SEED))
    noisy = mechanism_for(create_survey("laplace", Integers(1), 2, mechanism="naive-laplace", public_seed=SEED))
    spread = ReplayedWords(np.array(SPREAD, np.uint64)).draw(1, noisy.words_per_report)
    laplace = noisy.randomize(np.array([[1]], np.uint64), spread)
    keys = {purpose: derive_key(SEED, purpose) for purpose in range(1, 13)}
    return {
        "survey": survey.to_json().decode(),
        "survey_id": survey.survey_id.hex(),
        **{f"key of purpose {purpose}": little(key.high << 32 | key.low) for purpose, key in keys.items()},
        "item of 5": five.astype("<u8").tobytes().hex(),
        "item of U+0065 U+0301, bytes:8": Bytes(8).encode(["e\u0301"]).astype("<u8").tobytes().hex(),
        "id": told["id"].tobytes().hex(),
        "hash of the id": f"{int(coin[0]):016x}",
        "jl row of the id": str(jl.channel.rows_of(np.array([ID], np.uint64))[0]),
        "jl sign bit": str(told["bit"][0]),
        "jl report, third word 0": told.tobytes().hex(),
        "jl report, third word 2^64-1": lied.tobytes().hex(),
        "batch of the latter": encode_batch(survey.survey_id, lied).hex(),
        "dense sign bit of row 70": str(dense.sign_bits_at(np.array([[5]], np.uint64), np.array([70]))[0]),
        "first of fewer hadamard rows": first_character(mechanism_for(create_survey("few", Integers(16), 1, **fewer))),
        "bucket trial 0": " ".join(f"{row:02x}" for row in bucket.matrix[:12, 0].tolist()),
        "sha256 of all bucket rows": hashlib.sha256(bucket.matrix[:, 0].astype(np.uint8).tobytes()).hexdigest(),
        "bucket shifts of trial 0": "".join(map(str, bucket.shifts[:12])),
        "bucket row of the id": str(bucket.channel.rows_of(np.array([ID], np.uint64))[0]),
        "bucket report, third word 0": bucket.randomize(five, np.array([[*ID, 0]], np.uint64)).tobytes().hex(),
        "laplace digit thresholds": " ".join(map(str, noisy.channel.noise.digit_thresholds)),
        "laplace answers": " ".join(map(str, laplace["answers"][0])),
        "laplace report": laplace.tobytes().hex(),
        **tree_from_the_library(),
        **glps_from_the_library(),
    }


def first_character(mechanism) -> str:
    """The r of row 0, read from the signs of the powers of two."""
    powers = np.array([[1 << place] for place in range(16)], np.uint64)
    return str(sum(int(bit) << place for place, bit in enumerate(mechanism.sign_bits(powers)[:, 0])))


def test_worked_example_is_what_library_and_page_give() -> None:
    """Every line of the worked example in docs/wire-format.md is recomputed twice."""
    page = (DOCS / "wire-format.md").read_text(encoding="utf-8").partition("## A worked example")[2]
    lines = re.search(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1].splitlines()
    written = dict(line.split(" = ", 1) for line in lines)
    assert written == from_the_page()
    assert written == from_the_library()


def test_purposes_of_the_hash_are_documented() -> None:
    """The page has the number of every purpose that a registered mechanism uses, and no wrong one."""
    page = (DOCS / "wire-format.md").read_text(encoding="utf-8")
    listed = {name: int(number) for name, number in re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", page, re.MULTILINE)}
    modules = {entry.build.__module__ for entry in REGISTRY.values()} | {"hubbub.mechanisms.channels"}
    sources = "".join(Path(sys.modules[module].__file__).read_text(encoding="utf-8") for module in modules)
    used = set(re.findall(r"\bPurpose\.([A-Z_]+)", sources))
    assert used <= set(listed)
    assert all(Purpose[name] == number for name, number in listed.items())


# (e) Links.


def slug(heading: str) -> str:
    """The anchor of a heading; one that is not ASCII has different anchors in different places, so it has none."""
    if not heading.isascii():
        return ""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_resolve(page: Path) -> None:
    """A relative link points to a file that is there, and its anchor to a heading that is there."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.is_file(), f"{label(page)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{label(page)} links to {target}"


def test_every_page_is_in_the_site() -> None:
    """mkdocs.yml names every page of docs/, and none that is not there."""
    named = set(re.findall(r"^\s*- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert named == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


# (f) The table of mechanisms.


def test_table_of_mechanisms_is_the_registry() -> None:
    """The README's table has the registry's names, guarantees, report sizes, times and advice, word for word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in re.findall(r"^\| `.*\|$", text, re.M)]
    abouts = [entry.about for entry in REGISTRY.values()]
    assert rows == [[f"`{a.name}`", a.guarantee, a.report, a.server_time, a.use_when] for a in abouts]


def test_the_readme_says_what_was_measured() -> None:
    """People in the README's table are z95 of docs/accuracy.md, in hundreds; its other figures stand there too."""
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/accuracy.md"))
    deviation = math.sqrt(1_000_000) * 2 * math.exp(0.5) / math.expm1(1)

    def first(pattern: str) -> float:
        found = re.search(pattern, page, re.MULTILINE)
        assert found is not None, pattern
        return float(found.group(1))

    limit = first(r"which is ([\d.]+) at 64 bits")
    tree = first(r"^\| 1 \| 1,000,000 \|.*? \| 24 \| ([\d.]+) \[")
    pem = [first(rf"^\| PEM, {plan} \| 1 \| \d+ \| ([\d.]+) \[") for plan in ("tuned", "steps of 8 bits")]
    listed, list_limit = first(r"z95\s+([\d.]+) \["), first(r"against ([\d.]+) for scoring the list alone")
    expected = [(z, z / limit) for z in (limit, tree, *pem)] + [(listed, listed / list_limit)]
    section = readme[readme.index("## How few people") :].split("\n## ")[0]
    rows = re.findall(r"^\|.*\| ([\d,]+) \| ([\d.]+) \|$", section, re.MULTILINE)
    assert rows == [(f"{round(z * deviation, -2):,.0f}", f"{ratio:.2f}") for z, ratio in expected]
    standard = re.search(r"^\| 64 \| standard \| (\d+) \| (\d+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert standard is not None
    encode, tally, decode = standard.groups()
    for said in (f"{encode} ns to make", f"{tally} ns to add up", f"answer {float(decode):.1f} s"):
        assert said in " ".join(section.split())
    assert re.search(r"\*\*(\d+)\*\* times as long at ε = 1", page).group(1) + " times as long" in section


# (g) Paths.


@pytest.mark.parametrize("name", ["errata.md", "glossary.md", "paper.md"])
def test_named_places_exist(name: str) -> None:
    """Every module and test that the page names is there, and so is the name after "::"."""
    text = (DOCS / name).read_text(encoding="utf-8")
    places = re.findall(r"((?:src|tests)/[\w/]+\.py)(?:::(\w+))?", text)
    assert len(places) >= 10
    for path, member in places:
        file = ROOT / path
        assert file.is_file(), f"{name} names {path}"
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert not member or member in defined, f"{name} names {path}::{member}"


# (h) The paper.

STATEMENTS = (
    *(f"Definition 2.{k}" for k in (1, 2, 3, 6, 7, 8)),
    *(f"Theorem 2.{k}" for k in (4, 5, 9, 10)),
    *("Algorithm 1", "Lemma 3.1", "Theorem 3.2", "Theorem 3.3", "Theorem 3.4", "Lemma 3.5"),
    *("Algorithm 2", "Theorem 4.1", "Theorem 4.2", "Algorithm 3", "Theorem 4.3", "Theorem 4.4"),
    *("Lemma 4.5", "Lemma 4.6", "Lemma 4.7", "Theorem 4.8"),
)


def test_every_statement_of_the_paper_has_a_place_and_a_test() -> None:
    """docs/paper.md has a row for each of them, once, with a module and a test; and every erratum is in it."""
    text = (DOCS / "paper.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in re.findall(r"^\| .* \|$", text, re.MULTILINE)]
    rows = [row for row in rows if row[0].strip() not in ("statement", "---")]
    assert all(len(row) == 4 for row in rows)
    named = [row[0].strip().partition(",")[0] for row in rows]
    numbered = [name for name in named if re.fullmatch(r"(Definition|Theorem|Lemma|Algorithm) [\d.]+", name)]
    assert sorted(numbered) == sorted(STATEMENTS)
    for row in rows:
        assert re.search(r"`src/hubbub/[\w/]+\.py(::\w+)?`", row[1]), row[0]
        assert re.search(r"`tests/[\w/]+\.py(::test_\w+)?`", row[2]), row[0]
    errata = {int(number) for number in re.findall(r"\bE(\d+)\b", text)}
    ranges = re.findall(r"\bE(\d+) to E(\d+)\b", text)
    assert errata | {k for low, high in ranges for k in range(int(low), int(high) + 1)} == set(range(1, 34))


def test_pictures_are_small_and_shown_and_come_from_the_command() -> None:
    """Each file of docs/images is a figure of `hubbub paper`, below 200 kB, and on a page."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((DOCS / "images").iterdir())
    assert pictures
    for picture in pictures:
        assert picture.stem in STUDIES
        assert picture.stat().st_size < 200_000
        assert f"images/{picture.name})" in pages
