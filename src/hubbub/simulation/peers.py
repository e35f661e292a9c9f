"""Another library on the same people: pure-ldp, in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hubbub.errors import ParameterError
from hubbub.model.domain import Domain
from hubbub.model.mechanism import Histogram
from hubbub.simulation import pure_ldp_script

PEER: Final = "pure-ldp"

_LIST: Final = 4096  # values that are counted one by one
_MOST_BITS: Final = 64
_STEP: Final = 8  # bits of a prefix more, for those who report the next one


def python_of(folder: str) -> Path:
    """The Python of a virtual environment, or an error that says what a folder must hold."""
    places = [Path(folder) / "bin" / "python", Path(folder) / "Scripts" / "python.exe"]
    if (found := next((place for place in places if place.exists()), None)) is None:
        raise ParameterError(f"the folder of --peers must be a virtual environment with {PEER} in it, got {folder!r}")
    return found


def job_for(domain: Domain, crowd: Histogram, epsilon: float, top: int, seed: int) -> dict[str, Any]:
    """What the script is asked to do with these people; an error where pure-ldp cannot."""
    if domain.bits > _MOST_BITS:
        raise ParameterError(f"{PEER} must have values of at most {_MOST_BITS} bits, got {domain.bits}")
    job = {"epsilon": epsilon, "top": top, "seed": seed}
    values = np.repeat(crowd.items[:, 0], crowd.counts).tolist()
    if domain.size <= _LIST:
        return {**job, "values": values, "size": domain.size}
    step = min(_STEP, max(1, domain.bits // 4))
    return {**job, "values": values, "bits": domain.bits, "step": step}


def ask(python: Path, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What pure-ldp answers to some jobs; an error with the last line of what went wrong."""
    command = [str(python), pure_ldp_script.__file__]
    try:
        # The program is the Python of a folder that the user named, and the script is ours.
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise ParameterError(f"{python} must be a Python that can be run, got {error.strerror}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise ParameterError(f"{PEER} must run in {python}, got {last:.200}")
    return list(json.loads(done.stdout))
