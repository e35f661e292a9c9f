"""`hubbub mechanisms` and `hubbub demo`, and what every command has: help, a version and a quick start."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import CliRunner

import hubbub
from hubbub.cli.main import app
from hubbub.mechanisms.registry import REGISTRY

Cli = Callable[..., CompletedProcess[str]]

NAMES = list(REGISTRY)
COMMANDS = ["find", "simulate", "mechanisms", "demo", "serve", "hitters", "survey", "store"]
SLOW_TO_IMPORT = ["fastapi", "numba", "pyarrow", "scipy", "sqlalchemy", "uvicorn"]


@pytest.fixture(scope="module")
def listed(hubbub_cli: Cli) -> dict[str, Any]:
    """The JSON object of `hubbub mechanisms`."""
    run = hubbub_cli("mechanisms", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def demo(hubbub_cli: Cli) -> CompletedProcess[str]:
    """A demo that is the same each time."""
    return hubbub_cli("demo", "--people", "100000", "--seed", "1")


class TestMechanisms:
    """The list of mechanisms."""

    def test_the_names(self, listed: dict[str, Any]) -> None:
        """All mechanisms of the registry are listed, and no other as local."""
        assert [entry["name"] for entry in listed["mechanisms"]] == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_each_is_described(self, listed: dict[str, Any], name: str) -> None:
        """Each has a guarantee, bytes per report, limits and an advice, in words."""
        entry = next(entry for entry in listed["mechanisms"] if entry["name"] == name)
        assert "ε" in entry["guarantee"]
        assert re.search(r"\d+", entry["report"])
        assert "byte" in entry["report"]
        assert re.search(r"universe ≤ \S+ values", entry["limit"])
        for key in ("title", "server_time", "use_when"):
            assert entry[key].strip()

    def test_the_options(self, listed: dict[str, Any]) -> None:
        """Options come with their values, their defaults and what they do."""
        options = {entry["name"]: [option["name"] for option in entry["options"]] for entry in listed["mechanisms"]}
        assert options == {name: [option.name for option in REGISTRY[name].about.options] for name in REGISTRY}
        assert options["tree"] == ["size"]
        for entry in listed["mechanisms"]:
            for option in entry["options"]:
                assert option["help"]
                choices = option["values"].split(" / ")
                assert len(choices) == 1 or option["default"] in choices

    def test_every_listed_choice_works(self, listed: dict[str, Any]) -> None:
        """Each value that the list offers is one that `hubbub simulate` takes."""
        for entry in listed["mechanisms"]:
            for option in entry["options"]:
                choices = option["values"].split(" / ")
                for choice in choices if len(choices) > 1 else [option["default"]]:
                    chosen = ("-m", entry["name"], "-o", f"{option['name']}={choice}")
                    run = CliRunner().invoke(app, ["simulate", *chosen, "--people", "50", "--bits", "4", "--json"])
                    assert run.exit_code == 0, run.stderr
                    assert json.loads(run.stdout)["options"][option["name"]] == choice

    def test_the_exponential_mechanism_is_not_local(self, listed: dict[str, Any]) -> None:
        """The baseline is listed apart, as not local."""
        assert [entry["name"] for entry in listed["not_local"]] == ["exponential"]
        assert "NOT local" in listed["not_local"][0]["title"]
        assert "exponential" not in json.dumps(listed["mechanisms"])

    @pytest.mark.parametrize(
        ("name", "options", "bits", "epsilon"),
        [
            ("tree", {}, 8, 1),
            ("tree", {}, 256, 6),
            ("naive-laplace", {}, 8, 0.5),
            ("naive-laplace", {}, 8, 1),
            ("naive-laplace", {}, 8, 4),
            ("jl", {"calibration": "onebit"}, 16, 1),
            ("jl", {"calibration": "paper"}, 10, 1),
            ("jl", {"calibration": "tight"}, 10, 1),
            ("bucket", {"calibration": "onebit"}, 256, 1),
            ("bucket", {"calibration": "paper"}, 32, 1),
            ("bucket", {"calibration": "paper"}, 256, 1),
            ("bucket", {"calibration": "tight"}, 32, 0.1),
            ("glps", {"calibration": "onebit"}, 256, 1),
            ("glps", {"calibration": "paper", "layout": "lean"}, 32, 1),
            ("glps", {"calibration": "tight"}, 32, 1),
        ],
        ids=str,
    )
    def test_the_bytes_per_report_are_true(
        self, listed: dict[str, Any], name: str, options: dict[str, str], bits: int, epsilon: float
    ) -> None:
        """A report has as many bytes as the list says."""
        survey = hubbub.create_survey(
            "size", hubbub.Integers(bits), epsilon, mechanism=name, options=options, expected_reports=10**6
        )
        mechanism = hubbub.mechanism_for(survey)
        text = next(entry["report"] for entry in listed["mechanisms"] if entry["name"] == name)
        size = mechanism.report_dtype.itemsize
        if name == "tree":
            assert text == f"{size} bytes"
            return
        if options.get("calibration") == "onebit":
            assert f"onebit: {size} bytes" in text
            return
        each = (size - 16) / math.prod(mechanism.cells_shape)
        assert each in (1, 2, 4)
        symbol = "N" if name == "naive-laplace" else "rows"
        said = "N" if (name, each) == ("naive-laplace", 1) else rf"{each:.0f}·{symbol}"
        assert re.search(rf"\b{re.escape(said)}\b", text), f"{size} bytes are 16 + {said}, the list says {text!r}"
        if limit := re.search(r"for ε < ([0-9.]+)", text):  # the list says where the wider form begins
            assert (epsilon < float(limit[1])) == (each == 2)

    def test_the_text(self, hubbub_cli: Cli, listed: dict[str, Any]) -> None:
        """People see every name, option, guarantee and limit, and that the baseline is not local."""
        run = hubbub_cli("mechanisms")
        assert (run.returncode, run.stderr) == (0, "")
        *about, baseline = run.stdout.split("\n\n")
        assert len(about) == len(listed["mechanisms"])
        for text, entry in zip(about, listed["mechanisms"], strict=True):
            words = " ".join(text.split())
            assert words.startswith(f"{entry['name']}: {entry['title']} guarantee {entry['guarantee']} report ")
            for key in ("report", "limit", "server_time", "use_when"):
                assert f"{key.replace('_', ' ')} {entry[key]} " in f"{words} "
            for option in entry["options"]:
                expected = f"{option['name']}={option['default']}: {option['help']} ({option['values']})"
                assert f"option -o {expected}" in words
        assert re.search("exponential.*NOT local", baseline, re.DOTALL)

    @pytest.mark.parametrize(("columns", "most"), [(None, 80), ("120", 80), ("80", 80), ("40", 40)])
    def test_it_fits_the_terminal(self, hubbub_cli: Cli, columns: str | None, most: int) -> None:
        """No line is wider than the terminal, nor than 80 columns, which are read more easily than more."""
        run = hubbub_cli("mechanisms", env={} if columns is None else {"COLUMNS": columns})
        assert most - 10 < max(map(len, run.stdout.splitlines())) <= most


class TestDemo:
    """The demo."""

    @pytest.mark.slow
    def test_it_ends_well(self, demo: CompletedProcess[str]) -> None:
        """The demo ends by itself, without a word on stderr."""
        assert (demo.returncode, demo.stderr) == (0, "")

    @pytest.mark.slow
    def test_it_shows_found_against_true(self, demo: CompletedProcess[str]) -> None:
        """The site most visitors come from is found, with an interval that holds its true count."""
        row = next(line.split() for line in demo.stdout.splitlines() if line.split()[:1] == ["search.example"])
        found, low, high, true = (int(row[k].replace(",", "")) for k in (1, 3, 5, -1))
        assert low < found < high
        assert low <= true <= high
        assert 0.2 < true / 100_000 < 0.3

    @pytest.mark.slow
    def test_both_settings_are_shown(self, demo: CompletedProcess[str]) -> None:
        """The question is asked with a list of names, and then of any host name."""
        assert demo.stdout.index("list of 1,120 sites") < demo.stdout.index("any host name may be the answer")
        assert demo.stdout.count("search.example") == 2
        assert demo.stdout.count("100,000 reports") + demo.stdout.count("100,000      \nreports") == 2

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_demo(self, hubbub_cli: Cli) -> None:
        """With a seed everything but the time is the same."""
        first, second, other = (
            re.sub(r"\d+\.\d+ +s", "", " ".join(hubbub_cli("demo", "-n", "3000", "--seed", seed).stdout.split()))
            for seed in "112"
        )
        assert first == second
        assert first != other

    @pytest.mark.slow
    def test_nothing_is_left_behind(self, hubbub_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The made-up visitors are gone when the demo is over."""
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        assert hubbub_cli("demo", "-n", "50", "--seed", "1").returncode == 0
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("people", ["1", "2", "10"])
    def test_small_crowds(self, hubbub_cli: Cli, people: str) -> None:
        """A demo of a handful of people shows that nothing can be seen."""
        run = hubbub_cli("demo", "-n", people, "--seed", "1")
        assert run.returncode == 0
        assert run.stdout.count("Nothing stands out") == 2
        assert run.stdout.startswith("1 visitor comes to " if people == "1" else f"{people} visitors come to ")

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "5"])
    def test_what_it_says_of_lies_is_true(self, hubbub_cli: Cli, epsilon: str) -> None:
        """The chance of a lie that the demo states is that of randomised response among so many symbols."""
        run = hubbub_cli("demo", "-n", "50", "--seed", "1", "--epsilon", epsilon)
        symbols, said = re.search(r"one of (\d+) symbols, a lie with a chance of ([\d.]+)%", run.stdout).groups()
        others = int(symbols) - 1
        assert float(said) == pytest.approx(100 * others / (math.exp(float(epsilon)) + others), abs=0.051)


class TestEveryCommand:
    """Help, version and start."""

    @pytest.mark.parametrize("flag", ["--help", "-h"])
    @pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
    def test_help(self, hubbub_cli: Cli, command: tuple[str, ...], flag: str) -> None:
        """Every command explains itself."""
        run = hubbub_cli(*command, flag)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.startswith(f"Usage: {' '.join(('hubbub', *command))} ")
        if not command:
            assert all(name in run.stdout for name in COMMANDS)

    def test_version(self, hubbub_cli: Cli) -> None:
        """The version is that of the package."""
        run = hubbub_cli("--version")
        assert (run.returncode, run.stdout, run.stderr) == (0, f"hubbub {hubbub.__version__}\n", "")

    @pytest.mark.parametrize(
        "code",
        [
            "import hubbub",
            "import sys; sys.argv = ['hubbub', '--help']; import hubbub.__main__",
            "import sys; sys.argv = ['hubbub', 'find', '--help']; import hubbub.__main__",
            "import sys; sys.argv = ['hubbub', '--version']; import hubbub.__main__",
        ],
        ids=["import", "help", "find help", "version"],
    )
    def test_a_start_imports_nothing_slow(self, code: str) -> None:
        """Neither importing the package nor asking for help waits for a compiler or a file format."""
        check = f"import atexit, sys; atexit.register(lambda: print({SLOW_TO_IMPORT} & sys.modules.keys()))\n{code}"
        check = check.replace(str(SLOW_TO_IMPORT), str(set(SLOW_TO_IMPORT)))
        run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=True)
        assert run.stdout.endswith("set()\n"), run.stdout.splitlines()[-1]

    def test_the_help_as_a_process(self, hubbub_process: Cli) -> None:
        """`python -m hubbub --help` goes well as a process of its own."""
        run = hubbub_process("--help")
        assert (run.returncode, run.stderr) == (0, "")
        assert "Usage: " in run.stdout
