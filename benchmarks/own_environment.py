"""Runs a script in a virtual environment of its own: peers need versions that we do not use."""

from __future__ import annotations

import json
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ask(
    script: str, packages: Sequence[str], jobs: Sequence[dict[str, Any]], timeout: float = 900.0
) -> list[dict[str, Any]] | str:
    """What a script prints for some jobs, or why there is nothing.

    Parameters
    ----------
    script : str
        A file that reads a JSON list of jobs and prints a JSON list of answers.
    packages : sequence of str
        What is installed for it, in a temporary folder. The first one gives the reason its name.
    jobs : sequence of dict
        The jobs, as plain data.
    timeout : float
        Seconds that installing may take, and that running may take.
    """
    with tempfile.TemporaryDirectory(prefix="hubbub-peers-") as folder:
        python = str(Path(folder) / "bin" / "python")
        try:
            venv.create(folder, with_pip=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run(install, check=True, capture_output=True, text=True, timeout=timeout)
            done = subprocess.run(
                [python, script],
                input=json.dumps(list(jobs)),
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                timeout=timeout,
            )
        except (OSError, subprocess.SubprocessError) as error:
            name = packages[0].partition("==")[0]
            return f"{name} was left out: {type(error).__name__} while it was installed or run"
        return list(json.loads(done.stdout))
