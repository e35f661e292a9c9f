"""What an installation consists of: the bill of materials, and a reason for every dependency."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from tools.sbom import bill, needed

ROOT = Path(__file__).parents[1]


def stated() -> dict[str, set[str]]:
    """The direct dependencies by where they are needed; not those for tests and pages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"always": project["dependencies"], **project["optional-dependencies"]}
    named = {group: {Requirement(each).name for each in some} for group, some in groups.items()}
    return {group: some - {"hubbub"} for group, some in named.items() if group not in ("all", "dev", "docs")}


def test_every_dependency_has_its_reason() -> None:
    """The table of decision 11 has each direct dependency once, where it is needed, with a reason."""
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").partition("## 11. Dependencies")[2]
    rows = re.findall(r"^\| ([a-z0-9_, ]+) \| `?([a-z]+)`? \| (.+) \|$", page, re.MULTILINE)
    told: dict[str, set[str]] = {}
    for names, group, reason in rows:
        if names != "package":
            assert len(reason) > 5
            told.setdefault(group, set()).update(names.split(", "))
    assert told == stated()


def test_the_bill_is_complete() -> None:
    """Everything installed that a dependency needs is in it, with a version and a licence, and nothing for tests."""
    document = bill()
    json.dumps(document, allow_nan=False)
    listed = {each["name"]: each for each in document["components"]}
    assert {"numpy", "llvmlite", "starlette", "greenlet", "psycopg-binary", "py4j"} & needed().keys() <= listed.keys()
    assert {name for some in stated().values() for name in some} >= {"numpy", "fastapi"}
    assert listed.keys().isdisjoint({"pytest", "mypy", "ruff", "hypothesis"})
    assert all(each["version"] and each["licenses"][0]["license"]["name"] for each in listed.values())
    known = {document["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in listed.values())}
    assert {each["ref"] for each in document["dependencies"]} == known
    assert all(set(each["dependsOn"]) <= known for each in document["dependencies"])
