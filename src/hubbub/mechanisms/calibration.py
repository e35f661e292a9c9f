"""From a stated privacy loss to the parameters of a channel, and from a survey's parameters back to the channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from hubbub.errors import ParameterError, PrivacyError
from hubbub.mechanisms.channels import Channel, LaplaceChannel, OneBitChannel
from hubbub.mechanisms.checks import check_fields, whole_text
from hubbub.model.numbers import parse_decimal
from hubbub.model.survey import Survey
from hubbub.numeric.composition import largest_each, theorem_each
from hubbub.numeric.sampling import MAX_DIGITS, DiscreteLaplace, bit_threshold


def default_delta(options: Mapping[str, str]) -> Decimal:
    """0 for one-bit reports, which are pure; 10⁻⁶ for Laplace noise."""
    return Decimal(0) if options["calibration"] == "onebit" else Decimal("1e-6")


def channel_of(
    survey: Survey,
    sizes: set[str],
    one_bit: Callable[[int], Channel],
    laplace: Callable[[DiscreteLaplace], Channel],
) -> Channel:
    """The channel of a survey, which is untrusted: it must have exactly the parameters `sizes` and the channel's own.

    `one_bit` makes the channel from the threshold for telling the truth, `laplace` makes it from the noise.
    """
    parameters = survey.parameters
    if survey.options["calibration"] == "onebit":
        check_fields(parameters, {*sizes, "truth_threshold"})
        return one_bit(whole_text("truth_threshold", parameters.get("truth_threshold")))
    check_fields(parameters, {*sizes, "noise_rate", "digit_thresholds"})
    return laplace(noise_from_json(parameters))


def row_channel(survey: Survey, sizes: set[str], rows: int, step: int) -> Channel:
    """The channel of a sketch of rows in each of which two values differ by at most `step`."""
    return channel_of(
        survey,
        sizes,
        lambda threshold: OneBitChannel(rows, threshold, survey.public_seed),
        lambda noise: LaplaceChannel(rows, changed=rows, step=step, noise=noise),
    )


def calibrate_noise(
    calibration: str,
    epsilon: Decimal,
    delta: Decimal,
    changed: int,
    step: int,
    groups: int | None = None,
    queries: int | None = None,
) -> DiscreteLaplace:
    """The noise for a query: with `paper` that of Theorem 2.5, with `tight` the least that exact composition allows.

    `queries` is the number of parts that the paper counts, by default `changed`; the other arguments are those of
    `LaplaceChannel`. Before it is returned, the noise is checked by exact composition for replacement neighbours. The
    paper's noise does not always pass (at ε = 8, δ = 10⁻³ it is refused).
    """
    if not delta > 0:
        raise ParameterError(f"calibration={calibration} must have a delta above 0, got delta={delta}")
    if calibration == "paper":
        noise = DiscreteLaplace.with_rate(theorem_each(float(epsilon), queries or changed, float(delta)))
    else:
        first = DiscreteLaplace.with_rate(largest_each(float(epsilon), groups or changed, float(delta)) / step)
        cut = LaplaceChannel(1, changed, step=step, noise=first, groups=groups).guarantee(epsilon).delta - delta
        # Reserve twice the cost of truncation (digits and rate both change slightly), plus rounding in composition.
        spare = delta * (1 - Decimal("1e-8")) - 2 * max(cut, Decimal(0))
        if spare <= 0:
            raise ParameterError(f"delta must be above what 64-bit thresholds cost here, {cut:.2g}, got delta={delta}")
        noise = DiscreteLaplace.with_rate(largest_each(float(epsilon), groups or changed, float(spare)) / step)
    executed = LaplaceChannel(1, changed, step=step, noise=noise, groups=groups).guarantee(epsilon).delta
    if executed > delta:
        raise PrivacyError(
            f"calibration={calibration} must keep to the stated delta={delta} under exact composition, "
            f"got delta={executed:.3g} at epsilon={epsilon}"
        )
    return noise


def calibrate_bit(epsilon: Decimal) -> dict[str, Any]:
    """The parameters of a one-bit channel."""
    return {"truth_threshold": str(bit_threshold(epsilon))}


def noise_to_json(noise: DiscreteLaplace) -> dict[str, Any]:
    """The parameters of the noise, as a survey carries them."""
    return {"noise_rate": str(noise.rate.normalize()), "digit_thresholds": [str(t) for t in noise.digit_thresholds]}


def noise_from_json(parameters: Mapping[str, Any]) -> DiscreteLaplace:
    """The noise that a survey carries. Malformed noise is a ParameterError; weak noise shows in the guarantee."""
    rate, thresholds = parameters.get("noise_rate"), parameters.get("digit_thresholds")
    if not isinstance(rate, str) or not isinstance(thresholds, list):
        raise ParameterError(f"parameters.noise_rate must be a string beside a list of thresholds, got {rate!r:.60}")
    number = parse_decimal("parameters.noise_rate", rate)
    if str(number.normalize()) != rate:
        raise ParameterError(f"parameters.noise_rate must be in canonical form, got {rate!r:.60}")
    if len(thresholds) > MAX_DIGITS:
        raise ParameterError(f"parameters.digit_thresholds must be at most {MAX_DIGITS}, got {len(thresholds)}")
    return DiscreteLaplace(number, tuple(whole_text("digit_thresholds", t) for t in thresholds))
