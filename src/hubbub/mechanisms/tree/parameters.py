"""The parameters of a tree, derived from a request and written into the survey as integers."""

from __future__ import annotations

import math
from typing import Any

from hubbub.errors import ParameterError
from hubbub.mechanisms.base import Request
from hubbub.mechanisms.tree.law import best_masks, list_masks
from hubbub.mechanisms.tree.shape import plan_shape
from hubbub.mechanisms.tree.tuning import TUNING
from hubbub.model.coded_domain import CodedText
from hubbub.model.domain_base import Domain
from hubbub.numeric.sampling import response_threshold

MAX_EPSILON = 6
FIELDS = {"bucket_bits", "ends", "keep_threshold", "masks", "steps"}
_TYPICAL_LENGTHS = {"hostnames": 56, "words": 44, "text": 64}  # code bits that trees are planned for
_STATED_LENGTHS = {"hostnames": (48, 76), "words": (30, 48), "text": (48, 112)}
# Bits that a language's own table of words saves, of a common word and of a long one (docs/text-codes.md).
_LANGUAGE_SAVES = {
    "de": (3, 10),
    "en": (3, 4),
    "es": (3, 7),
    "fr": (4, 10),
    "it": (3, 10),
    "nl": (4, 7),
    "pl": (4, 11),
    "pt": (2, 11),
    "sv": (3, 8),
    "tr": (4, 14),
}


def typical_length(domain: Domain) -> int | None:
    """Code bits that a tree over texts is planned for; None for a domain without a code."""
    return min(_TYPICAL_LENGTHS[domain.normalization[:-2]], domain.width) if isinstance(domain, CodedText) else None


def stated_lengths(domain: Domain) -> tuple[int, int | None]:
    """Code bits of a usual and of a long value, for which limits are stated: median, and longest tenth."""
    if not isinstance(domain, CodedText):
        return domain.bits, None
    usual, long = _STATED_LENGTHS[domain.normalization[:-2]]
    less, much_less = _LANGUAGE_SAVES.get(domain.language or "", (0, 0))
    return min(usual - less, domain.bits), min(long - much_less, domain.bits)


def derive(request: Request) -> dict[str, Any]:
    """Rows, shares, depths, masks and the threshold."""
    domain, epsilon, people = request.domain, float(request.epsilon), request.expected_reports
    if request.epsilon > MAX_EPSILON:
        raise ParameterError(f"tree must have an epsilon of at most {MAX_EPSILON}, got epsilon={request.epsilon}")
    if domain.bits > 512:
        raise ParameterError(f"tree must have a universe of at most 2^512 values, got 2^{domain.bits}")
    size, typical = request.options["size"], typical_length(domain)
    # The number of values that could be found at once decides how crowded the buckets are.
    spread = math.sqrt(people) * 2 * math.exp(epsilon / 2) / math.expm1(epsilon)
    large = people / (11 * spread) >= TUNING.standard_values or people >= TUNING.standard_from
    large = large or (typical is None and domain.bits >= 128)
    shape = plan_shape(domain.bits, typical, size == "standard" or (size == "auto" and large))
    masks = list_masks(domain.size, epsilon) if shape.rows == 1 else best_masks(epsilon)
    threshold = str(response_threshold(request.epsilon, 1 << masks))
    return {**shape.to_parameters(), "masks": masks, "keep_threshold": threshold}
