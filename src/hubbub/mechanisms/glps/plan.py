"""The sizes of GLPS-HH: the paper's s, the layout of the operator, its noise, and how a survey carries them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hubbub.errors import ParameterError
from hubbub.mechanisms.base import Request
from hubbub.mechanisms.calibration import calibrate_bit, calibrate_noise, noise_to_json
from hubbub.mechanisms.checks import whole
from hubbub.mechanisms.facts import MAX_SPARSITY
from hubbub.mechanisms.glps import operator
from hubbub.mechanisms.glps.operator import Layout, Stage

MAX_BITS = 512
MAX_CELLS = 2**21  # more than hubbub derives for any survey; a survey from elsewhere is untrusted
_BETA = 0.1  # of Theorem 4.2, for the paper's s
_ONE_BIT_DELTA = 1e-6  # Theorem 4.2 has no s for δ = 0; the one-bit form uses the default δ of the Laplace forms
_VALUES_PER_SPARSITY = 64  # in smaller universes the buckets would outnumber the values


SIZES = {"sparsity", "repeats", "estimates", "bucket_bits", "code_rows", "estimate_bits"}
"""The parameters of a survey that `layout_to_json` writes."""


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """The sizes of the operator, as a survey carries them."""
    return {
        "sparsity": layout.sparsity,
        "repeats": layout.repeats,
        "estimates": layout.estimates,
        "bucket_bits": [stage.bucket_bits for stage in layout.stages],
        "code_rows": [stage.code_rows for stage in layout.stages],
        "estimate_bits": [stage.estimate_bits for stage in layout.stages],
    }


def layout_from_json(parameters: Mapping[str, Any], bits: int) -> Layout:
    """The sizes of a survey's operator, checked: a survey is untrusted input."""
    if bits > MAX_BITS:
        raise ParameterError(f"glps must have a universe of at most 2^{MAX_BITS} values, got 2^{bits}")
    lists: dict[str, list[int]] = {}
    for name in ("bucket_bits", "code_rows", "estimate_bits"):
        values = parameters.get(name)
        if not isinstance(values, list) or not 1 <= len(values) <= 16:
            raise ParameterError(f"parameters.{name} must be a list of 1 to 16 whole numbers, got {values!r:.60}")
        most = 2**11 if name == "code_rows" else min(bits, 20)
        lists[name] = [whole({name: value}, name, 0, most) for value in values]
    if len({len(values) for values in lists.values()}) > 1:
        raise ParameterError("parameters must have lists of one length for all stages, got several lengths")
    layout = Layout(
        whole(parameters, "sparsity", 1, 2**10),
        whole(parameters, "repeats", 1, 16),
        whole(parameters, "estimates", 0, 64),
        tuple(Stage(*sizes) for sizes in zip(*lists.values(), strict=True)),
    )
    for stage in layout.stages:
        if stage.code_rows <= bits - stage.bucket_bits:
            raise ParameterError(
                f"parameters.code_rows must be above the {bits - stage.bucket_bits} bits of a message, "
                f"got {stage.code_rows}"
            )
    if layout.cells > MAX_CELLS:
        raise ParameterError(f"glps must have at most {MAX_CELLS} rows, got {layout.cells}")
    return layout


def paper_sparsity(people: int, size: int, epsilon: float, delta: float, beta: float) -> float:
    """The s that balances the two errors of Theorem 4.2: (ε/ln(1/β) · √(n/(ln N · ln(1/δ))))^(2/3)."""
    inner = epsilon / math.log(1 / beta) * math.sqrt(people / (math.log(size) * math.log(1 / delta)))
    return float(inner ** (2 / 3))


def derive(request: Request) -> dict[str, Any]:
    """The operator's sizes for the sparsity, and noise for `slots` parts (`tight`) or for all m rows (`paper`)."""
    if request.domain.bits > MAX_BITS:
        raise ParameterError(f"glps must have a universe of at most 2^{MAX_BITS} values, got 2^{request.domain.bits}")
    layout = _choose_layout(request)
    parameters = layout_to_json(layout)
    calibration = request.options["calibration"]
    if calibration == "onebit":
        return {**parameters, **calibrate_bit(request.epsilon)}
    slots = layout.slots
    noise = calibrate_noise(
        calibration, request.epsilon, request.delta, changed=2 * slots, step=2, groups=slots, queries=layout.cells
    )
    return {**parameters, **noise_to_json(noise)}


def _choose_layout(request: Request) -> Layout:
    """The sizes of the operator, for the chosen sparsity or that of the paper."""
    option = request.options["sparsity"]
    if option == "paper":
        delta = float(request.delta) or _ONE_BIT_DELTA
        wanted = paper_sparsity(request.expected_reports, request.domain.size, float(request.epsilon), delta, _BETA)
        sparsity = max(1, min(round(wanted), MAX_SPARSITY, request.domain.size // _VALUES_PER_SPARSITY))
    elif Decimal(option) % 1:
        raise ParameterError(f"option sparsity must be paper or a whole number, got {option}")
    else:
        sparsity = int(option)
    make = operator.lean if request.options["layout"] == "lean" else operator.staged
    return make(request.domain.bits, sparsity)
