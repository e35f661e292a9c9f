"""A tally as bytes, with a checksum. See docs/wire-format.md.

version ‖ width ‖ survey id (32) ‖ count (8) ‖ cells of `width` bytes each ‖ SHA-256 of everything before (32).

If the tally names a day, its width is 128 more, and the number of the day since 1970 (4) is before the cells.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from hubbub.errors import (
    BadLength,
    BadVersion,
    InputError,
    LeftOverBytes,
    ParameterError,
    SurveyMismatch,
    WireError,
    system_reason,
)
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.survey import Survey
from hubbub.model.tallies import Tallies
from hubbub.model.tally import Cells, Tally
from hubbub.outputs import PathLike, check_outputs, write_whole

TALLY_VERSION: Final = 1
_HEADER_BYTES: Final = 2 + 32 + 8
_CHECKSUM_BYTES: Final = 32
_DAY_BYTES: Final = 4
_WITH_DAY: Final = 128
_EPOCH: Final = date(1970, 1, 1)
_LAST_DAY: Final = (date.max - _EPOCH).days
LARGEST_OVERHEAD: Final = _HEADER_BYTES + _DAY_BYTES + _CHECKSUM_BYTES
"""Bytes of a tally in addition to its cells, which have at most 8 bytes each."""
_WIDTHS: Final = (1, 2, 4, 8)


def encode_tally(tally: Tally) -> bytes:
    """The bytes of a tally, its cells in the narrowest integers that hold them all."""
    width = cell_bytes(tally.cells)
    day = b"" if tally.day is None else (tally.day - _EPOCH).days.to_bytes(_DAY_BYTES, "little")
    header = bytes([TALLY_VERSION, width + _WITH_DAY * bool(day)]) + tally.survey_id
    header += tally.count.to_bytes(8, "little") + day
    cells = (
        np.ascontiguousarray(tally.cells, f"<i{width}").reshape(-1).view(np.uint8).data
    )  # may be many: no more copies
    checksum = hashlib.sha256(header)
    checksum.update(cells)
    return b"".join((header, cells, checksum.digest()))


def cell_bytes(cells: Cells) -> int:
    """The fewest bytes of signed integers that hold all cells: 1, 2, 4 or 8."""
    low, high = int(cells.min(initial=0)), int(cells.max(initial=0))
    return next(w for w in _WIDTHS if -(1 << (8 * w - 1)) <= low and high < 1 << (8 * w - 1))


def parse_tally(data: bytes, survey_id: bytes, cells_shape: tuple[int, ...] | None) -> Tally:
    """The tally of a survey, checked to the last bit. Without a shape there may be any number of cells, in one row.

    Raises
    ------
    BadLength, BadVersion, WireError, SurveyMismatch, LeftOverBytes
        The tally is malformed or damaged; none of it may be used.
    """
    if data and data[0] != TALLY_VERSION:
        raise BadVersion(f"a tally must be of version {TALLY_VERSION}, got version {data[0]}")
    if len(data) < _HEADER_BYTES + _CHECKSUM_BYTES:
        raise BadLength(f"a tally must have at least {_HEADER_BYTES + _CHECKSUM_BYTES} bytes, got {len(data)} bytes")
    body, checksum = memoryview(data)[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]  # without copying the cells
    if hashlib.sha256(body).digest() != checksum:
        raise WireError("a tally must match its checksum, got bytes that were changed")
    width, start = data[1] % _WITH_DAY, _HEADER_BYTES + _DAY_BYTES * (data[1] >= _WITH_DAY)
    if width not in _WIDTHS:
        raise WireError(f"a tally must have cells of 1, 2, 4 or 8 bytes, got {width}")
    if data[2:34] != survey_id:
        raise SurveyMismatch(f"a tally must be of survey {survey_id.hex()[:8]}, got {data[2:34].hex()[:8]}")
    got = len(body) - start
    if got < 0:
        raise BadLength(f"a tally with a day must have at least {LARGEST_OVERHEAD} bytes, got {len(data)} bytes")
    shape = (got // width,) if cells_shape is None else cells_shape
    expected = int(np.prod(shape)) * width
    if got != expected:
        raise LeftOverBytes(f"a tally of this survey must have {expected} bytes of cells, got {got}")
    cells = np.frombuffer(body, f"<i{width}", offset=start).astype(np.int64).reshape(shape)
    count, day = (int.from_bytes(part, "little") for part in (body[34:_HEADER_BYTES], body[_HEADER_BYTES:start]))
    if day > _LAST_DAY:
        raise WireError(f"the day of a tally must be before the year 10000, got day {day}")
    return Tally(survey_id, count, cells, _EPOCH + timedelta(days=day) if start > _HEADER_BYTES else None)


def read_tally(path: PathLike, survey: Survey | None = None) -> Tally:
    """The tally in a file, checked to the last bit.

    Parameters
    ----------
    path : path
        A file written by `write_tally`, `hubbub tally` or a collector.
    survey : Survey, optional
        The survey that the tally must belong to. Without it the cells are returned as one row.

    Raises
    ------
    InputError
        The file cannot be read, or is not a whole tally. The message names it.
    SurveyMismatch
        It is of another survey.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the tally {str(path)!r}: {system_reason(error)}") from None
    return parse_named_tally(data, str(path), survey)


def parse_named_tally(data: bytes, name: str, survey: Survey | None = None) -> Tally:
    """Like `read_tally`, for the bytes of a file; `name` is the file's name in messages."""
    try:
        if survey is not None:
            return parse_tally(data, survey.survey_id, mechanism_for(survey).cells_shape)
        return parse_tally(data, data[2:34], None)
    except SurveyMismatch as error:
        raise SurveyMismatch(f"{name!r}: {error}") from None
    except WireError as error:
        raise InputError(f"{name!r} is not a whole tally: {error}") from None


def write_tally(path: PathLike, tally: Tally) -> None:
    """Write a tally to a file, all of it or nothing."""
    write_whole(path, encode_tally(tally))


def check_tally_output(path: PathLike, inputs: Iterable[PathLike]) -> None:
    """Raise ParameterError before a long job unless the output can be written, is no input, and replaces only a tally.

    An existing file counts as a tally if its first bytes and its size fit.
    """
    check_outputs([path], inputs)
    if os.path.exists(path) and not _may_be_tally(path):
        raise ParameterError(f"the output must be a new file or a tally, got {os.fspath(path)!r}, which is neither")


def _may_be_tally(path: PathLike) -> bool:
    """Whether a file begins as a tally does and has the size of one."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(2)
    except OSError:
        return False
    if len(head) < 2 or head[0] != TALLY_VERSION or (width := head[1] % _WITH_DAY) not in _WIDTHS:
        return False
    cells = os.path.getsize(path) - LARGEST_OVERHEAD + _DAY_BYTES * (head[1] < _WITH_DAY)
    return cells >= 0 and cells % width == 0


def read_tallies(paths: Iterable[PathLike], survey: Survey | None = None) -> Tallies:
    """The tallies in files that name the day of their slice, one for each day.

    `hubbub tally --day` writes such files, and a collector does if it is asked for one slice. They are read at once;
    the parameters and errors are those of `read_tally`.
    """
    found = list[Tally]()
    for path in paths:
        found.append(read_tally(path, survey))
        if found[-1].day is None:
            raise InputError(f"the tally {os.fspath(path)!r} must name the day of its slice, got one without a day")
    return Tallies(found)


def merge(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies of one survey. The order does not matter: the sum is exact.

    >>> from hubbub import Tally, merge
    >>> one = Tally(bytes(32), 1, np.array([1, 0]))
    >>> merge([one, one, one]).cells.tolist()
    [3, 0]
    """
    parts = iter(tallies)
    first = next(parts, None)
    if first is None:
        raise ParameterError("tallies to merge must be at least one, got none")
    return sum(parts, start=first)
