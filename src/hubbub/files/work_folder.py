"""The folder of a job that can be killed: what the job is, what of it is done, and a lock.

Everything in it is written whole or not at all. Whoever kills the job at any moment can start it again with the same
files and options, and it goes on from the last thing that was written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import InputError, WireError
from hubbub.files.tallied import Counts
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import draw_key
from hubbub.wire.atomic import write_whole
from hubbub.wire.tally_file import encode_tally, parse_tally

_JOB, _STATE, _LOCK = "job.json", "counted", "lock"
_OURS: Final = re.compile(r"(job\.json|counted|unit-\d+\.(records|index))|\.(job|counted|unit)[-.\w]*")


class State(NamedTuple):
    """What was counted: the units that are done, the counts and the tally of exactly these units."""

    done: set[int]
    counts: Counts
    tally: Tally


class WorkFolder:
    """A context manager: holds the lock while it is entered.

    Parameters
    ----------
    path : str
        The folder. It is made if it is not there.
    job : mapping
        What the job is, as JSON: its files with their sizes and times, and its options. A folder that was begun for
        another job is refused; but a job that was begun without `skip_bad` may go on with it.

    Attributes
    ----------
    path : str
        The folder.
    key : uint64 array
        The secret by which ids are spread, the same after a restart.
    """

    def __init__(self, path: str, job: Mapping[str, Any]) -> None:
        self.path, self._job = path, dict(job)
        self.key: NDArray[np.uint64] = draw_key()

    def __enter__(self) -> Self:
        try:
            os.makedirs(self.path, exist_ok=True)
            self._lock = open(os.path.join(self.path, _LOCK), "a")  # as long as the job lives
        except OSError as error:
            raise InputError(
                f"the work folder must be writable, got {self.path!r} ({(error.strerror or '').lower()})"
            ) from None
        try:
            _take(self._lock.fileno(), self.path)
            self._begin()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def _begin(self) -> None:
        """Write down what the job is, or see that it is what it was."""
        file, inside = os.path.join(self.path, _JOB), set(os.listdir(self.path)) - {_LOCK}
        if any(_OURS.fullmatch(name) is None for name in inside):
            raise InputError(f"the work folder must be empty or of this job, got {self.path!r} with other files")
        for name in inside:
            if _JOB not in inside or name.startswith("."):  # left by one that was killed as it began, wrote or ended
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
                f"a job must go on with the files and options it was begun with, got others in {self.path!r}; "
                "remove that folder to start anew with other ones"
            )

    def _damaged(self) -> InputError:
        return InputError(f"the work folder must be whole, got a damaged one in {self.path!r}; remove it")

    def _write_job(self) -> None:
        begun = {"job": self._job, "key": [str(word) for word in self.key]}
        write_whole(os.path.join(self.path, _JOB), json.dumps(begun).encode())

    def save(self, state: State) -> None:
        """Write what was counted."""
        head = json.dumps({"done": sorted(state.done), "counts": asdict(state.counts)}).encode()
        write_whole(os.path.join(self.path, _STATE), head + b"\n" + encode_tally(state.tally))

    def load(self, survey_id: bytes, cells_shape: tuple[int, ...]) -> State:
        """What was counted so far; nothing, in a new folder."""
        try:
            with open(os.path.join(self.path, _STATE), "rb") as file:
                head, tally = json.loads(file.readline()), parse_tally(file.read(), survey_id, cells_shape)
        except FileNotFoundError:
            return State(set(), Counts(), Tally(survey_id, 0, np.zeros(cells_shape, np.int64)))
        except (ValueError, WireError):
            raise self._damaged() from None
        return State(set(head["done"]), Counts(**head["counts"]), tally)

    def remove(self) -> None:
        """Remove the folder when the job is done; what it was first, so that nobody goes on from what is left."""
        with suppress(OSError):
            os.unlink(os.path.join(self.path, _JOB))
        shutil.rmtree(self.path, ignore_errors=True)


def _take(handle: int, path: str) -> None:
    """Lock a file for this process, until it is closed; refuse if another process has it."""
    try:
        import fcntl
    except ImportError:  # where there are no such locks, two jobs in one folder are the user's to avoid
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"a work folder must be used by one job at a time, got {path!r}, which is in use") from None
