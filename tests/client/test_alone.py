"""The client alone: nothing installed but Python, and the wheel in an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.client.peer import Peer

import hubbub
import hubbub.client
from hubbub import Survey
from hubbub.client import Ledger

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ANSWER = """
from {package} import Client
with Client(sys.argv[1], ledger=sys.argv[2], first_retry=0.01) as client:
    client.report("news.example")
    print(client.flush(60).status)
loaded = {{name.partition(".")[0] for name in sys.modules}}
outside = loaded - set(sys.stdlib_module_names) - {{"__main__", "{package}"}}
print(*sorted(outside))
"""


def run(python: str | Path, options: list[str], path: Path | None, package: str, *words: object) -> list[str]:
    """What a client prints that answers a survey in an interpreter that sees little else."""
    start = f"import sys; sys.path.insert(0, {str(path)!r})" if path else "import sys"
    code = start + ANSWER.format(package=package)
    environment = {**os.environ, "no_proxy": "*"}
    result = subprocess.run(
        [str(python), *options, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_the_folder_needs_the_standard_library_only(peer: Peer, survey: Survey, ledger: Path) -> None:
    """Imported by itself, with no site-packages and nothing of hubbub, it answers a survey."""
    source = ROOT / "src" / "hubbub"
    assert run(sys.executable, ["-I", "-S"], source, "client", peer.url(survey), ledger) == ["sent", ""]
    assert len(peer.counted) == 1
    assert Ledger(ledger).read()[survey.survey_id.hex()]["state"] == "sent"


def test_importing_it_as_part_of_hubbub_loads_nothing_else() -> None:
    """`import hubbub.client` is quick: no numpy, and no other part of hubbub."""
    code = "import sys, hubbub.client; print(*sorted(n for n in sys.modules if n.startswith(('numpy', 'hubbub.'))))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name == "hubbub.client" or name.startswith("hubbub.client.") for name in result.stdout.split())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT / "clients" / "python", check=True, capture_output=True)
    (wheel,) = folder.iterdir()
    return wheel


def test_the_wheel_is_the_folder(wheel: Path) -> None:
    """Every file of the client, byte for byte, and no dependency; of the same version as hubbub."""
    assert wheel.name == f"hubbub_client-{hubbub.__version__}-py3-none-any.whl"
    assert hubbub.client.__version__ == hubbub.__version__
    with zipfile.ZipFile(wheel) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    source = ROOT / "src" / "hubbub" / "client"
    code = {name: data for name, data in files.items() if ".dist-info/" not in name}
    assert code == {f"hubbub_client/{path.name}": path.read_bytes() for path in source.glob("*.py")}
    metadata = next(data for name, data in files.items() if name.endswith("METADATA")).decode()
    assert "Requires-Dist" not in metadata


def test_the_wheel_answers_in_an_empty_environment(
    wheel: Path, peer: Peer, survey: Survey, ledger: Path, tmp_path: Path
) -> None:
    """Installed where nothing else is, it answers a survey."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    assert run(python, ["-I"], None, "hubbub_client", peer.url(survey), ledger) == ["sent", ""]
    assert len(peer.counted) == 1
