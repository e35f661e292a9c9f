"""Feed a collector's parsers with bytes that a fuzzer makes up, guided by what the code does with them.

`make fuzz` installs atheris and runs this for a minute; any argument of libFuzzer may be added. Whatever the bytes
are, a batch, a tally or a survey must be read or be refused by one of our own errors.
"""

from __future__ import annotations

import contextlib
import sys

import atheris
import numpy as np

# Outside, and before the others, because what is compiled cannot be instrumented.
from hubbub import Integers, create_survey, load_survey, mechanism_for
from hubbub.errors import HubbubError
from hubbub.sealing.hpke import PrivateKey

with atheris.instrument_imports(
    include=["hubbub.wire", "hubbub.sealing.request", "hubbub.sealing.release", "hubbub.sealing.sealed"]
):
    from hubbub.sealing.release import parse_part
    from hubbub.sealing.request import Opened, parse_plain, parse_request
    from hubbub.sealing.sealed import open_request, seal_request
    from hubbub.wire.report_batch import parse_batch
    from hubbub.wire.tally_file import parse_tally

SURVEY = create_survey("fuzz", Integers(16), 2, public_seed=bytes(32))
MECHANISM = mechanism_for(SURVEY)
PRIVATE = PrivateKey(bytes(31) + b"\1")
REQUEST = seal_request(PRIVATE.public, 100, Opened(SURVEY.survey_id, bytes(17)))


def batch(data: bytes) -> None:
    """The way of an upload, up to the sums."""
    for body in (data, b"\x01" + SURVEY.survey_id + data):
        try:
            reports = parse_batch(body, SURVEY.survey_id, MECHANISM.report_dtype)
        except HubbubError:
            continue
        cells = np.zeros(MECHANISM.cells_shape, np.int64)
        MECHANISM.accumulate(cells, reports[MECHANISM.validate(reports)])


def tally(data: bytes) -> None:
    """The way of a stored tally."""
    with contextlib.suppress(HubbubError):
        parse_tally(data, SURVEY.survey_id, MECHANISM.cells_shape)


def survey(data: bytes) -> None:
    """The way of a survey document."""
    with contextlib.suppress(HubbubError):
        load_survey(data)


def sealed(data: bytes) -> None:
    """The ways of a sealed request: at the relay, at the collector, and what is inside."""
    for parse in (parse_request, parse_plain, parse_part, lambda each: open_request(PRIVATE, each)):
        for body in (data, REQUEST[:37] + data, REQUEST[: -len(data) or None] + data):
            with contextlib.suppress(HubbubError):
                parse(body)


TARGETS = (batch, tally, survey, sealed)


def attempt(data: bytes) -> None:
    """The first byte chooses the parser, the others are its input."""
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, attempt)
    atheris.Fuzz()
