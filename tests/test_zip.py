"""The package in a zip, as `spark-submit --py-files hubbub.zip` gives it to executors: nothing of it is a file."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]

WORKS = """
import sys

import hubbub
from hubbub.codes.shipped import CODE_NAMES, load_code

assert hubbub.__file__.startswith(sys.argv[1] + "/"), hubbub.__file__
assert all(getattr(hubbub, name) is not None for name in hubbub.__all__)
assert all(load_code(name) for name in CODE_NAMES)
drinks = ["tea"] * 900 + ["coffee"] * 100
answer = hubbub.find(drinks, domain=hubbub.Categories(["tea", "coffee", "water"]), mechanism="jl", seed=1)
print(answer.hitters[0].value)
survey = hubbub.create_survey("drinks", hubbub.Categories(["tea", "coffee"]), 2, mechanism="jl")
mechanism = hubbub.mechanism_for(survey)
words = hubbub.SeededRandomWords(1).draw(1_000, mechanism.random_words_per_report)
reports = mechanism.randomize(survey.domain.encode(drinks), words)
print(hubbub.tally_reports(survey, [reports, reports]).count)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a zip, without what Python keeps beside it."""
    path = tmp_path_factory.mktemp("zip") / "hubbub.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((ROOT / "src" / "hubbub").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(ROOT / "src"))
    return path


def run(package: Path, code: str, *arguments: str) -> str:
    """What a new process prints that finds hubbub in the zip only, and its dependencies where they are installed."""
    env = {
        "HOME": str(package.parent),
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([str(package), sysconfig.get_path("purelib")]),
    }
    command = [sys.executable, "-S", "-c", code, str(package), *arguments]  # -S: the source of this tree is not found
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, cwd=package.parent, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_package_works_from_a_zip(package: Path) -> None:
    """Every public name, every text code, an answer and a tally."""
    assert run(package, WORKS).splitlines() == ["tea", "1000"]
