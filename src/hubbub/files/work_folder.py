"""The directory of a job that may be killed: a description of the job, its progress, and a lock.

Every file in it is written whole or not at all. A job that was killed at any moment can be started again with the same
files and options, and continues from the last file that was written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import InputError, WireError, system_reason
from hubbub.files.tallied import Counts
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import draw_key
from hubbub.outputs import write_whole
from hubbub.wire.tally_file import encode_tally, parse_tally

_JOB, _STATE, _LOCK = "job.json", "counted", "lock"
_OURS: Final = re.compile(r"(job\.json|counted|unit-\d+\.(records|counts|index))|\.(job|counted|unit)[-.\w]*")


class State(NamedTuple):
    """The progress of a job: the units that are done, and the counts and tally of exactly these units."""

    done: set[int]
    counts: Counts
    tally: Tally


class WorkFolder:
    """A context manager that holds the lock of the directory.

    Parameters
    ----------
    path : str
        The directory. It is created if it does not exist.
    job : mapping
        A description of the job, for JSON: its files with their sizes and times, and its options. A directory that was
        begun for another job is refused; but a job that was begun without `skip_bad` may continue with it.

    Attributes
    ----------
    path : str
        The directory.
    key : uint64 array
        The secret key that spreads ids over partitions, the same after a restart.
    """

    def __init__(self, path: str, job: Mapping[str, Any]) -> None:
        self.path, self._job = path, dict(job)
        self.key: NDArray[np.uint64] = draw_key()

    def __enter__(self) -> Self:
        try:
            os.makedirs(self.path, exist_ok=True)
            self._lock = open(os.path.join(self.path, _LOCK), "a")  # as long as the job lives
        except OSError as error:
            raise InputError(f"cannot write to the work folder {self.path!r}: {system_reason(error)}") from None
        try:
            _take(self._lock.fileno(), self.path)
            self._begin()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def _begin(self) -> None:
        """Write the description of a new job, or check that it is the same as before."""
        file, inside = os.path.join(self.path, _JOB), set(os.listdir(self.path)) - {_LOCK}
        if any(_OURS.fullmatch(name) is None for name in inside):
            raise InputError(f"the work folder must be empty or of this job, got {self.path!r} with other files")
        for name in inside:
            if _JOB not in inside or name.startswith("."):  # left by a job that was killed as it began, wrote or ended
                os.unlink(os.path.join(self.path, name))
        if _JOB not in inside:
            self._write_job()
            return
        wanted = json.loads(json.dumps(self._job))
        try:
            with open(file, "rb") as stored:
                begun = json.load(stored)
            self.key = np.array([int(word) for word in begun["key"]], np.uint64)
        except (ValueError, KeyError, TypeError):
            raise self._damaged() from None
        if begun["job"] == {**wanted, "skip_bad": False} != wanted:  # it found damage, and may now skip it
            self._write_job()
        elif begun["job"] != wanted:
            raise InputError(
                f"the work folder {self.path!r} was begun with other files or options; give the same ones to "
                "continue, or remove the folder to start over"
            )

    def _damaged(self) -> InputError:
        return InputError(f"the work folder {self.path!r} is damaged; remove it and start over")

    def _write_job(self) -> None:
        begun = {"job": self._job, "key": [str(word) for word in self.key]}
        write_whole(os.path.join(self.path, _JOB), json.dumps(begun).encode())

    def save(self, state: State) -> None:
        """Write the progress."""
        head = json.dumps(sorted(state.done)).encode() + b"\n" + state.counts.to_bytes() + b"\n"
        write_whole(os.path.join(self.path, _STATE), head + encode_tally(state.tally))

    def load(self, survey_id: bytes, cells_shape: tuple[int, ...]) -> State:
        """The progress so far; an empty one in a new directory."""
        try:
            with open(os.path.join(self.path, _STATE), "rb") as file:
                done, counts = set(json.loads(file.readline())), Counts.from_bytes(file.readline())
                tally = parse_tally(file.read(), survey_id, cells_shape)
        except FileNotFoundError:
            return State(set(), Counts(), Tally(survey_id, 0, np.zeros(cells_shape, np.int64)))
        except (TypeError, ValueError, WireError):
            raise self._damaged() from None
        return State(done, counts, tally)

    def remove(self) -> None:
        """Remove the directory, its description first, so that no job continues from a half-removed one."""
        with suppress(OSError):
            os.unlink(os.path.join(self.path, _JOB))
        shutil.rmtree(self.path, ignore_errors=True)


def _take(handle: int, path: str) -> None:
    """Lock a file for this process until it is closed; an InputError if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # without these locks, the user must not run two jobs in one directory
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"the work folder {path!r} is in use by another job") from None
