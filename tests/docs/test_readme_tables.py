"""The README's tables are what the registry says and what was measured."""

from __future__ import annotations

import json
import math
import re

from tests.docs.pages import ROOT

from hubbub.mechanisms.registry import REGISTRY


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

    limit = first(r"normal law:\s+([\d.]+) at 64 bits")
    at_once = r"^\| 1 \| 1,000,000 \|.*? \| \d+ \| "
    plans = [rf"^\| PEM, {plan} \| 1 \| \d+ \| " for plan in ("tuned", "steps of 8 bits")]
    tree, *pem = (first(rf"{each}([\d.]+) \[") for each in (at_once, *plans))
    listed, list_limit = first(r"z95\s+is\s+([\d.]+) \["), first(r"would\s+be\s+([\d.]+)\s+for\s+scoring")
    expected = [(z, z / limit) for z in (limit, tree, *pem)] + [(listed, listed / list_limit)]
    section = readme[readme.index("## How few people") :].split("\n## ")[0]
    rows = re.findall(r"^\|.*\| ([\d,]+) \| ([\d,– ]+) \| ([\d.]+) \|$", section, re.MULTILINE)
    intervals = ["–", *(_between(page, each, deviation) for each in (at_once, *plans, r"z95\s+is\s+"))]
    people = [f"{round(z * deviation, -2):,.0f}" for z, _ in expected]
    assert rows == list(zip(people, intervals, [f"{ratio:.2f}" for _, ratio in expected], strict=True))
    standard = re.search(r"^\| 64 \| standard \| (\d+) \| (\d+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert standard is not None
    encode, tally, decode = standard.groups()
    for said in (f"{encode} ns to make", f"{tally} ns to add up", f"answer {float(decode):.1f} s"):
        assert said in " ".join(section.split())
    assert re.search(r"\*\*(\d+)\*\* times as long at ε = 1", page).group(1) + " times as long" in section


def _between(page: str, before: str, deviation: float) -> str:
    """The interval of a z95 on the page, in people."""
    found = re.search(rf"{before}[\d.]+ \[([\d.]+), ([\d.]+)\]", page, re.MULTILINE)
    assert found is not None, before
    return " – ".join(f"{round(float(z) * deviation, -2):,.0f}" for z in found.groups())


def test_the_readme_has_rows_of_the_page_of_lists() -> None:
    """Its errors of short lists are those of docs/benchmarks.md, of crowds that hold all values equally often."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = json.loads((ROOT / "docs/data/lists.json").read_text(encoding="utf-8"))["tables"]
    peers = next(table for table in tables if table["section"] == "Peers")
    columns = [peers["columns"].index(name) for name in ("`subset`", "multi-freq-ldpy GRR", "multi-freq-ldpy OUE")]
    measured = {tuple(row[:3]): [row[column] for column in columns] for row in peers["rows"]}
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.± ]+) \| ([\d.± ]+) \| ([\d.± ]+) \|$", readme, re.MULTILINE)
    assert len(rows) == 4
    for values, epsilon, *errors in rows:
        assert measured["even", values, epsilon] == errors
