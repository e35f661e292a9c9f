"""`hubbub paper`: all figures from one command, a report that is whole or not there, and nobody's files lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from matplotlib.image import imread

from hubbub.cli.main import app
from hubbub.paper.run import STUDIES

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("paper")]  # they share a report that takes long


def run(*arguments: str):
    """Run the command in this process."""
    return CliRunner().invoke(app, ["paper", *arguments])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """The folder of a quick report, which had another file in it, and what the command printed."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "notes.txt").write_text("mine")
    result = run("--quick", "--seed", "1", "--jobs", "1", "--out", str(folder), "--json")
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def test_every_figure_is_there(report: tuple[Path, dict]) -> None:
    """PNG, SVG and numbers of each, the report in two forms, and what was there before; nothing else."""
    folder, printed = report
    figures = {f"{name}.{kind}" for name in STUDIES for kind in ("png", "svg", "json")}
    assert {path.name for path in folder.iterdir()} == figures | {"report.md", "report.html", "run.json", "notes.txt"}
    assert {path.name for path in folder.iterdir()} == {*printed["files"], "notes.txt"}
    assert (folder / "notes.txt").read_text() == "mine"
    for name in STUDIES:
        picture = imread(folder / f"{name}.png")
        assert picture.shape[1] > 1000
        assert (picture[..., :3].min(axis=2) < 0.9).mean() > 0.02  # something is drawn
        root = ElementTree.parse(folder / f"{name}.svg").getroot()  # noqa: S314  # our own file
        assert root.tag.endswith("svg")
        assert (folder / f"{name}.png").stat().st_size < 1_000_000


def test_the_numbers_are_beside_the_figures(report: tuple[Path, dict]) -> None:
    """Setting, seed and a row for each point, in strict JSON; the run states seed, versions and time."""
    folder, printed = report
    for name, study in STUDIES.items():
        numbers = json.loads((folder / f"{name}.json").read_text(), parse_constant=pytest.fail)
        assert (numbers["figure"], numbers["seed"], numbers["quick"]) == (name, 1, True)
        assert len(numbers["rows"]) == len(study.cells(True))
        assert numbers["setting"]["epsilon"] == 1
    assert json.loads((folder / "run.json").read_text()) == {k: v for k, v in printed.items() if k != "out"}
    assert printed["seconds"] > 0
    assert printed["versions"]["hubbub"]


def test_the_report_shows_every_figure_and_every_mechanism(report: tuple[Path, dict]) -> None:
    """Markdown links to files that are there; the page of one file holds its figures and refers to nothing outside."""
    folder, _ = report
    text = (folder / "report.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert {f"{name}.svg" for name in STUDIES} <= set(targets)
    assert all((folder / target).is_file() for target in targets)
    for mechanism in ("JL-HH", "Bucket", "GLPS-HH", "naive baseline", "tree"):
        assert f"| {mechanism}" in text
    assert "--quick --seed 1" in text
    sources: list[str] = []

    class Images(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del tag
            sources.extend(value or "" for name, value in attrs if name in ("src", "href"))

    Images().feed((folder / "report.html").read_text(encoding="utf-8"))
    assert len(sources) == len(STUDIES)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)


def test_a_new_report_replaces_the_old_one(report: tuple[Path, dict], tmp_path: Path) -> None:
    """With one figure asked for, the other figures of the old report go; somebody's own file stays."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in report[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    result = run("--quick", "--seed", "2", "--jobs", "1", "--out", str(folder), "--only", "error-against-universe")
    assert result.exit_code == 0, result.output
    assert "error-against-universe" in result.stdout
    names = {"error-against-universe.png", "error-against-universe.svg", "error-against-universe.json"}
    assert {path.name for path in folder.iterdir()} == names | {"report.md", "report.html", "run.json", "notes.txt"}
    assert "separation" not in (folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["report.md", "separation.json"])
def test_files_of_others_are_not_overwritten(tmp_path: Path, name: str) -> None:
    """A folder with a file of ours by name only is refused before anything runs, and stays as it was."""
    (tmp_path / name).write_text("mine")
    result = run("--quick", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"hubbub: out must be a directory without a {name}, or one that hubbub paper wrote")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_out_must_be_a_folder(tmp_path: Path) -> None:
    """A file in its place is one sentence and exit code 2; so is a folder that cannot be made."""
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        result = run("--quick", "--out", str(out))
        assert result.exit_code == 2
        assert result.stderr.startswith("hubbub: ")
        assert result.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    """Before the folder is made."""
    result = run("--only", "figure-1", "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert "a figure must be one of separation" in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle, as a terminal sends it to all processes: exit code 130 and no folder, half or whole."""
    command = [sys.executable, "-m", "hubbub", "paper", "--out", "new", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and not list(tmp_path.glob("new/.partial-*")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said == "hubbub: interrupted\n"
    assert not list(tmp_path.iterdir())
