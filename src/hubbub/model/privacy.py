"""The privacy guarantee that is promised to each person."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class PrivacyGuarantee:
    """(epsilon, delta)-differential privacy of one report under *replacement*: any value against any other.

    Definition 2.2 of the paper compares databases at L1 distance 1, but two values of one person are at distance
    2. Taken literally it would promise nothing in the local model. Every guarantee here compares all pairs of values.

    Attributes
    ----------
    epsilon : Decimal
        Upper bound on the log-ratio of the chances of any report.
    delta : Decimal
        Upper bound on the chance that this bound fails; 0 for pure privacy.
    """

    epsilon: Decimal
    delta: Decimal

    def __str__(self) -> str:
        return f"ε = {float(self.epsilon):.4g}" + (f", δ = {float(self.delta):.2g}" if self.delta else "")
