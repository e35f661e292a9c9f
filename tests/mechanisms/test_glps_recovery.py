"""Recovery of sparse vectors: exact without noise, and within the constants of the guarantee with it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.errors import ParameterError
from hubbub.mechanisms.glps.operator import Operator, lean, staged
from hubbub.mechanisms.glps.recovery import fit, recover
from hubbub.simulation.population import random_items

SIGNALS = 24


def operator_for(bits: int, sparsity: int, rng: np.random.Generator) -> Operator:
    """A fresh operator."""
    return Operator(bits, staged(bits, sparsity), rng.bytes(32))


def difference(items, values, found, found_values) -> float:
    """‖v − v̂‖₂."""
    left = {item.tobytes(): float(value) for item, value in zip(items, values, strict=True)}
    for item, value in zip(found, found_values, strict=True):
        left[item.tobytes()] = left.get(item.tobytes(), 0.0) - float(value)
    return math.sqrt(sum(value * value for value in left.values()))


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["faithful", "refit"])
@pytest.mark.parametrize("sparsity", [1, 2, 4, 8])
@pytest.mark.parametrize("bits", [20, 40, 64])
def test_exact_recovery_without_noise(bits: int, sparsity: int, decoder: str) -> None:
    """Oracle 12: s-sparse vectors of whole numbers come back exactly, 24 of 24."""
    rng = np.random.default_rng([bits, sparsity])
    for _ in range(SIGNALS):
        operator = operator_for(bits, sparsity, rng)
        items = random_items(sparsity, bits, rng)
        values = (rng.integers(1, 1000, sparsity) * rng.choice([-1, 1], sparsity)).astype(np.float64)
        found = recover(operator, operator.measure(items, values), decoder)
        assert difference(items, values, *found) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["faithful", "refit"])
@pytest.mark.parametrize(("bits", "sparsity"), [(20, 1), (20, 8), (32, 4), (62, 1), (62, 4)])
def test_constants_of_the_guarantee(bits: int, sparsity: int, decoder: str) -> None:
    """Oracle 12: C₁ < 1.3 for a tail of 2,000 terms, C₂ < 0.5 for Gaussian noise, small, like the head and larger."""
    rng = np.random.default_rng([bits, sparsity, 1])
    logarithm = math.sqrt(bits - math.log2(sparsity))
    for scale in (0.1, 1.0, 2.0) * 2:
        operator = operator_for(bits, sparsity, rng)
        items = random_items(sparsity + 2000, bits, rng)
        head = rng.choice([-1, 1], sparsity) * rng.uniform(1, 4, sparsity)
        tail = rng.normal(size=2000)
        values = np.concatenate([head, tail * (scale * math.sqrt(sparsity) / np.linalg.norm(tail))])
        missed = difference(items, values, *recover(operator, operator.measure(items, values), decoder))
        assert missed < 1.3 * np.linalg.norm(np.sort(np.abs(values))[:-sparsity])
        noise = rng.normal(size=operator.cells)
        noise *= scale * np.linalg.norm(head) * logarithm / np.linalg.norm(noise)
        measured = operator.measure(items[:sparsity], head) + noise
        missed = difference(items[:sparsity], head, *recover(operator, measured, decoder))
        assert missed < 0.5 * np.linalg.norm(noise) / logarithm


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "sparsity", "decoder"),
    [(1, 1, "faithful"), (1, 1, "refit"), (2, 2, "refit"), (5, 2, "faithful"), (128, 2, "faithful"), (512, 1, "refit")],
)
def test_tiny_and_huge_universes(bits: int, sparsity: int, decoder: str) -> None:
    """One value of two, and one of 2^512, in noise."""
    rng = np.random.default_rng(bits)
    items = random_items(sparsity, bits, rng) if bits > 1 else np.array([[1]], np.uint64)
    operator = Operator(bits, lean(bits, sparsity), rng.bytes(32))
    measured = operator.measure(items, np.full(sparsity, 100.0)) + rng.normal(size=operator.cells)
    found, values = recover(operator, measured, decoder)
    top = {item.tobytes() for item in found[:sparsity]}
    assert top == {item.tobytes() for item in items}
    assert np.abs(values[:sparsity] - 100).max() < 20


def test_fit_is_least_squares() -> None:
    """The fitted values are those of a dense solver; dependent columns share what they explain."""
    rng = np.random.default_rng(4)
    operator = operator_for(16, 2, rng)
    items = random_items(40, 16, rng)
    measured = rng.normal(size=operator.cells)
    design = np.stack([operator.measure(item[np.newaxis], np.ones(1)) for item in items], axis=1)
    values, left = fit(operator, items, measured)
    assert values == pytest.approx(np.linalg.lstsq(design, measured, rcond=None)[0], abs=1e-9)
    assert left == pytest.approx(measured - design @ values, abs=1e-9)
    twice, _ = fit(operator, np.concatenate([items[:1], items[:1]]), measured)
    assert twice == pytest.approx(np.full(2, fit(operator, items[:1], measured)[0][0] / 2), abs=1e-9)


def test_nothing_measured_is_nothing_found() -> None:
    """Zeros give no coordinate; a coordinate beyond the universe is left out."""
    operator = Operator(16, lean(16, 1), bytes(32))
    for decoder in ("faithful", "refit"):
        assert len(recover(operator, np.zeros(operator.cells), decoder)[0]) == 0
        measured = operator.measure(np.array([[60_000]], np.uint64), np.array([9.0]))
        assert recover(operator, measured, decoder)[0][:1].tolist() == [[60_000]]
        assert [60_000] not in recover(operator, measured, decoder, size=50_000)[0].tolist()


def test_refusals() -> None:
    """Measurements of another shape and unknown decoders."""
    operator = Operator(16, lean(16, 1), bytes(32))
    with pytest.raises(ParameterError, match="measured must have shape"):
        recover(operator, np.zeros(3))
    with pytest.raises(ParameterError, match="decoder must be faithful or refit"):
        recover(operator, np.zeros(operator.cells), "best")
