"""The parameters of a tree: derived from a request, written into the survey as integers, and checked when read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.base import Request
from hubbub.mechanisms.checks import whole
from hubbub.mechanisms.tree.plan import (
    MASK_BITS,
    MAX_MASKS,
    ROW_BITS,
    TreePlan,
    beam_width,
    list_masks,
    plan_text_tree,
    plan_tree,
)
from hubbub.model.coded_domain import CodedText
from hubbub.numeric.sampling import response_threshold

MAX_EPSILON = 6
_STANDARD_FROM = 300_000  # people from which a larger tally pays
_STANDARD_VALUES = 30  # or number of values that could be found at once from which it pays
_FINGERPRINT_BITS = 16
_TYPICAL_LENGTHS = {"hostnames-1": 56, "words-1": 44, "text-1": 64}  # code lengths, in bits, that trees are tuned for
STATED_LENGTHS = {"hostnames-1": (48, 76), "words-1": (30, 48), "text-1": (48, 112)}
"""Code bits of a usual and of a long text, for which detection limits are stated: median, and longest tenth."""
FIELDS = {
    *("bucket_bits", "depths", "chunks", "ends", "masks", "keep_threshold", "beam_bits", "fingerprint_bits"),
}


def derive(request: Request) -> dict[str, Any]:
    """Rows, shares, masks and the threshold, as integers."""
    domain = request.domain
    if request.epsilon > MAX_EPSILON:
        raise ParameterError(f"tree must have an epsilon of at most {MAX_EPSILON}, got epsilon={request.epsilon}")
    if domain.bits > 512:
        raise ParameterError(f"tree must have a universe of at most 2^512 values, got 2^{domain.bits}")
    size = request.options["size"]
    # The number of values that could be found at once decides how crowded the buckets are.
    epsilon = float(request.epsilon)
    spread = math.sqrt(request.expected_reports) * 2 * math.exp(epsilon / 2) / math.expm1(epsilon)
    crowded = request.expected_reports / (11 * spread) >= _STANDARD_VALUES
    large = crowded or domain.bits >= 128 or request.expected_reports >= _STANDARD_FROM
    standard = size == "standard" or (size == "auto" and large)
    if isinstance(domain, CodedText):
        fingerprint = _FINGERPRINT_BITS
        standard = size == "standard" or (size == "auto" and (crowded or request.expected_reports >= _STANDARD_FROM))
        typical = min(_TYPICAL_LENGTHS[domain.normalization], domain.width)
        plan = plan_text_tree(fingerprint, domain.bits, typical, standard)
        beam = 1 << (plan.bucket_bits - 1)  # fewer, since text codes have more depths and each path costs more
    else:
        fingerprint = 0
        plan = plan_tree(domain.bits, standard)
        beam = beam_width(domain.bits, standard)
    if len(plan.depths) == 1:
        masks = list_masks(domain.size, epsilon)
    else:
        # With the least variance that each report adds to the count of a value that its sender does not hold: about
        # ε·log₂e masks.
        grown, symbols = math.expm1(min(epsilon, 50.0)), [1 << masks for masks in range(1, MAX_MASKS + 1)]
        noise = [(grown + each) ** 2 / (grown**2 * (each - 1)) for each in symbols]
        masks = 1 + noise.index(min(noise))
    return {
        "bucket_bits": plan.bucket_bits,
        "depths": list(plan.depths),
        "chunks": list(plan.chunks),
        "ends": list(plan.ends),
        "masks": masks,
        "keep_threshold": str(response_threshold(request.epsilon, 1 << masks)),
        "beam_bits": beam.bit_length() - 1,
        "fingerprint_bits": fingerprint,
    }


def read_plan(parameters: Mapping[str, Any], bits: int) -> TreePlan:
    """The plan that a survey carries. It is checked, because kernels use this untrusted input as indices."""
    bucket_bits = whole(parameters, "bucket_bits", 1, MASK_BITS)
    lists = {}
    for name in ("depths", "chunks", "ends"):
        value = parameters[name]
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            raise ParameterError(f"parameters.{name} must be a list of whole numbers, got {shown(value)}")
        lists[name] = tuple(value)
    depths, chunks, ends = lists["depths"], lists["chunks"], lists["ends"]
    if not 1 <= len(depths) <= 200 or not len(depths) == len(chunks) == len(ends):
        raise ParameterError(f"parameters.depths must have 1 to 200 entries like chunks and ends, got {len(depths)}")
    rising = all(a < b for a, b in zip((0, *ends), ends, strict=False))
    if not rising or ends[-1] != 1 << ROW_BITS:
        raise ParameterError("parameters.ends must rise to 2^24, got another sequence")
    for above, depth, chunk in zip((0, *depths), depths, chunks, strict=False):
        if not (above <= depth <= bits and 0 <= chunk <= min(bucket_bits, depth)):
            raise ParameterError(f"parameters.depths must descend to the {bits} bits of an item, got {shown(depths)}")
    if depths[0] > MASK_BITS:  # a search looks at all roots
        raise ParameterError(f"parameters.depths must begin at {MASK_BITS} bits or less, got {depths[0]}")
    if depths[-1] != bits:
        raise ParameterError(f"parameters.depths must end at the {bits} bits of an item, got {depths[-1]}")
    if len(depths) == 1 and chunks[0] != bucket_bits:
        raise ParameterError(f"parameters.chunks must be bucket_bits where there is one row, got {chunks[0]}")
    return TreePlan(bucket_bits, depths, chunks, ends)
