"""The wheel as somebody gets it: its contents, and what it does where only the core dependencies are installed."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
CORE = {"click", "cryptography", "numba", "numpy", "rich", "scipy"}
EXTRAS = {
    "relay": {"httptools", "starlette", "uvicorn", "uvloop"},
    "server": {"fastapi", "httptools", "jinja2", "prometheus-client", "sqlalchemy", "uvicorn", "uvloop"},
    "plots": {"matplotlib"},
    "files": {"pyarrow"},
    "postgres": {"psycopg"},
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("hubbub-*.whl")
    return built


def test_two_builds_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Whoever builds this tree again gets the very wheel."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_import_is_quiet_and_uses_no_network() -> None:
    """`import hubbub` raises no warning, and opens no socket and looks up no name."""
    code = (
        "import sys; seen = []; sys.addaudithook(lambda name, _: name.startswith('socket.') and seen.append(name)); "
        "import hubbub, hubbub.client; assert not seen, seen"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def requirements(wheel: Path) -> list[Requirement]:
    """What the wheel says it needs."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    return [Requirement(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-Dist: ")]


def needed(wanted: Requirement, extra: str = "") -> bool:
    """Whether a requirement holds on this machine for an extra, or without any."""
    return wanted.marker is None or wanted.marker.evaluate({"extra": extra})


def with_dependencies(wanted: list[Requirement]) -> set[str]:
    """The distributions that these requirements install, with all that they require in turn."""
    found: set[str] = set()
    left = [(each.name, frozenset(each.extras)) for each in wanted]
    while left:
        name, extras = left.pop()
        if name in found:
            continue
        found.add(name)
        for text in importlib.metadata.requires(name) or []:
            each = Requirement(text)
            if any(needed(each, extra) for extra in ("", *extras)):
                left.append((each.name, frozenset(each.extras)))
    return found


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel and, as links, what it requires without an extra; nothing else."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for name in with_dependencies([each for each in requirements(wheel) if needed(each)]):
        distribution = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return folder


def run(bare: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """The command line of the wheel, in an environment that shows it nothing of ours."""
    command = [str(bare / "bin" / "python"), "-m", "hubbub", *map(str, words)]
    env = {"HOME": str(bare), "PATH": os.defpath, "LANG": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=bare, env=env, check=False)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """The modules, the tables of the codes, the types and the licence; no tests, no documents, no caches."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0] for name in names} == {"hubbub", "hubbub-0.1.0.dist-info"}
    assert {"hubbub/py.typed", "hubbub/__init__.pyi", "hubbub-0.1.0.dist-info/licenses/LICENSE"} <= names
    source = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = {path.relative_to(ROOT / "src").as_posix() for path in source}
    assert any(name.startswith("hubbub/codes/tables/") and not name.endswith(".py") for name in files)
    assert {name for name in names if name.startswith("hubbub/")} == files


def test_the_extras_are_those_of_the_documentation(wheel: Path) -> None:
    """The core has six dependencies; each extra brings its own; `all` is all of them, and `dev` has `all`."""
    wanted = requirements(wheel)
    assert {each.name for each in wanted if each.marker is None} == CORE
    for extra, names in EXTRAS.items():
        assert {each.name.replace("_", "-") for each in wanted if each.marker and needed(each, extra)} == names
    everything, for_developers = (
        {each.name.replace("_", "-") for each in wanted if each.marker and needed(each, extra)}
        for extra in ("all", "dev")
    )
    assert everything == set().union(*EXTRAS.values()) <= for_developers
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`hubbub[{extra}]`" in readme for extra in (*EXTRAS, "all"))


def test_a_bare_installation_finds(bare: Path) -> None:
    """With the core dependencies alone `hubbub find` gives its answer; with jl, whose kernels compile in seconds."""
    people = bare / "people.txt"
    people.write_text("tea\n" * 900 + "coffee\n" * 100)
    (bare / "drinks.txt").write_text("tea\ncoffee\nwater\n")
    done = run(bare, "find", people, "--domain", f"categories:{bare / 'drinks.txt'}", "-m", "jl", "--seed", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "tea" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["find", "people.parquet"], "A Parquet file needs pyarrow; install it with: pip install 'hubbub[files]'"),
        (["serve"], "The collector needs fastapi; install it with: pip install 'hubbub[server]'"),
        (["demo"], "The collector needs fastapi; install it with: pip install 'hubbub[server]'"),
        (["store", "check"], "The store needs sqlalchemy; install it with: pip install 'hubbub[server]'"),
        (["paper"], "A report with figures needs matplotlib; install it with: pip install 'hubbub[plots]'"),
    ],
)
def test_a_missing_extra_is_one_sentence(words: list[str], said: str, bare: Path) -> None:
    """Exit code 2, and how to install what is missing; nothing else is said or done."""
    (bare / "people.parquet").write_bytes(b"PAR1")
    done = run(bare, *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"hubbub: {said}\n")
