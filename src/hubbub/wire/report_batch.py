"""A batch of reports: version byte ‖ survey id (32) ‖ reports of one fixed size. See docs/wire-format.md."""

from __future__ import annotations

from typing import Final

import numpy as np

from hubbub.errors import BadLength, BadVersion, LeftOverBytes, SurveyMismatch
from hubbub.model.mechanism import Reports

BATCH_VERSION: Final = 1
_ID_BYTES: Final = 32
HEADER_BYTES: Final = 1 + _ID_BYTES


def encode_batch(survey_id: bytes, reports: Reports) -> bytes:
    """The bytes of a batch of reports of one survey."""
    return bytes([BATCH_VERSION]) + survey_id + reports.tobytes()


def parse_batch(data: bytes, survey_id: bytes, report_dtype: np.dtype[np.void]) -> Reports:
    """The reports of a batch of this survey. Their content is not checked: use the mechanism's `validate`.

    Raises BadLength, BadVersion, SurveyMismatch or LeftOverBytes if the batch is malformed; then none of it may be
    used.
    """
    if not data:
        raise BadLength(f"a batch must have a header of {HEADER_BYTES} bytes, got 0 bytes")
    if data[0] != BATCH_VERSION:
        raise BadVersion(f"a batch must be of version {BATCH_VERSION}, got version {data[0]}")
    if len(data) < HEADER_BYTES:
        raise BadLength(f"a batch must have a header of {HEADER_BYTES} bytes, got {len(data)} bytes")
    if data[1:HEADER_BYTES] != survey_id:
        raise SurveyMismatch(f"a batch must be for survey {survey_id.hex()[:8]}, got {data[1:HEADER_BYTES].hex()[:8]}")
    left_over = (len(data) - HEADER_BYTES) % report_dtype.itemsize
    if left_over:
        raise LeftOverBytes(f"a batch must hold whole reports of {report_dtype.itemsize} bytes, got {left_over} more")
    return np.frombuffer(data, report_dtype, offset=HEADER_BYTES)
