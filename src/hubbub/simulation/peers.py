"""Runs another library, pure-ldp, on the same people, in its own virtual environment."""

from __future__ import annotations

import inspect
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hubbub.errors import ParameterError, system_reason
from hubbub.model.domain import Domain
from hubbub.model.mechanism import Histogram
from hubbub.simulation import pure_ldp_script

PEER: Final = "pure-ldp"

_LIST: Final = 4096  # up to this many values, each is counted; above, pure-ldp searches
_MOST_BITS: Final = 64
_STEP: Final = 8  # bits by which each group's prefix is longer than that of the group before


def python_of(folder: str) -> Path:
    """The Python of a virtual environment; a ParameterError if there is none."""
    places = [Path(folder) / "bin" / "python", Path(folder) / "Scripts" / "python.exe"]
    if (found := next((place for place in places if place.exists()), None)) is None:
        raise ParameterError(f"--peers must be the directory of a virtual environment with {PEER}, got {folder!r}")
    return found


def job_for(domain: Domain, crowd: Histogram, epsilon: float, top: int, seed: int) -> dict[str, Any]:
    """The script's job for these people; a ParameterError if pure-ldp cannot do it."""
    if domain.bits > _MOST_BITS:
        raise ParameterError(f"{PEER} must have values of at most {_MOST_BITS} bits, got {domain.bits}")
    job = {"epsilon": epsilon, "top": top, "seed": seed}
    values = np.repeat(crowd.items[:, 0], crowd.counts).tolist()
    if domain.size <= _LIST:
        return {**job, "values": values, "size": domain.size}
    step = min(_STEP, max(1, domain.bits // 4))
    return {**job, "values": values, "bits": domain.bits, "step": step}


def ask(python: Path, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of pure-ldp for some jobs; on failure a ParameterError with the last line of its error output."""
    command = [str(python), "-c", inspect.getsource(pure_ldp_script)]  # hubbub may be in a zip, without files
    try:
        # The program is the Python of a directory that the user named, and the script is hubbub's.
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise ParameterError(f"cannot run {python}: {system_reason(error)}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no error message"])[-1]
        raise ParameterError(f"{PEER} failed in {python} ({last:.200})")
    try:
        return list(json.loads(done.stdout))
    except (ValueError, TypeError, RecursionError):
        raise ParameterError(f"{python} must print only what {PEER} found, got something else") from None
