"""A description of each mechanism, for people who choose one. `hubbub mechanisms` prints it.

Nothing here imports numpy or numba, so that the list is shown at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

MAX_SPARSITY: Final = 64


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a mechanism. Its value is one of a few words, a number in an open interval, or either."""

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    between: tuple[Decimal, Decimal] | None = None

    def describe(self) -> str:
        """The values it takes, for a table."""
        numbers = () if self.between is None else (f"{self.between[0]} < x < {self.between[1]}",)
        return " or ".join([" / ".join(self.choices), *numbers] if self.choices else numbers)


@dataclass(frozen=True, slots=True)
class About:
    """The description of a mechanism, for the table of `hubbub mechanisms`."""

    name: str
    title: str
    guarantee: str
    report: str
    limit: str
    server_time: str
    use_when: str
    options: tuple[Option, ...] = ()


# What the paper's sketches share, since they send their responses through the same channels.
_GUARANTEE: Final = "onebit: pure ε; paper, tight: (ε, δ)"
_REPORT: Final = "onebit: 17 bytes; paper, tight: 16 + 2·rows or 4·rows"
_CALIBRATION: Final = Option("calibration", "onebit", "how the response is made private", ("paper", "tight", "onebit"))

TREE: Final = About(
    name="tree",
    title="Tree-coded linear local hashing: the default",
    guarantee="pure ε",
    report="17 bytes",
    limit="universe ≤ 2^512 values, ε ≤ 6",
    server_time="about a second at 64 bits, nine at 512",
    use_when="the universe is large and nothing is known of its values",
    options=(Option("size", "auto", "size of tally and beam", ("auto", "small", "standard")),),
)

SUBSET: Final = About(
    name="subset",
    title="Subset selection with public coins: the default for short lists",
    guarantee="pure ε",
    report="17 bytes; 18 for more than 256 values",
    limit="universe ≤ 4,096 values",
    server_time="at once",
    use_when="the values are a short list: polls, options, countries",
)

JL: Final = About(
    name="jl",
    title="JL-HH: random projection, every value scored (paper, section 3.1)",
    guarantee=_GUARANTEE,
    report=_REPORT,
    limit="universe ≤ 2^24 values; dense: rows·values ≤ 2^36",
    server_time="N log N (hadamard), N·rows (dense)",
    use_when="the values are known or few: counts of all of them, near-optimal for ε ≤ 1",
    options=(
        _CALIBRATION,
        Option("projection", "hadamard", "which rows of signs", ("dense", "hadamard")),
    ),
)

BUCKET: Final = About(
    name="bucket",
    title="The Bucket mechanism: group testing with linear hashes (paper, section 4.2)",
    guarantee=_GUARANTEE,
    report=_REPORT,
    limit="universe ≤ 2^512 values",
    server_time="log³ N",
    use_when="the universe is huge and one value, or a few, are held by a large share",
    options=(
        _CALIBRATION,
        Option("decoder", "soft", "the paper's vote, or soft decoding of all rows", ("hard", "soft")),
        Option("beta", "0.1", "failure probability of the theorem; sets the trials", between=(Decimal(0), Decimal(1))),
    ),
)

GLPS: Final = About(
    name="glps",
    title="GLPS-HH: compressed sensing with geometric stages (paper, section 4.1)",
    guarantee=_GUARANTEE,
    report=_REPORT,
    limit="universe ≤ 2^512 values",
    server_time="s·log³ N, to find s values",
    use_when="you want to study the paper's compressed sensing",
    options=(
        _CALIBRATION,
        Option("decoder", "refit", "stage by stage as in GLPS, or least squares after each", ("faithful", "refit")),
        Option("layout", "staged", "geometric stages, or one stage without estimation", ("staged", "lean")),
        Option(
            "sparsity",
            "paper",
            "how many values to recover; paper: s of Theorem 4.2",
            ("paper",),
            (Decimal(0), Decimal(MAX_SPARSITY + 1)),
        ),
    ),
)

NAIVE_LAPLACE: Final = About(
    name="naive-laplace",
    title="Every person sends a noisy histogram (paper, section 3.1)",
    guarantee="(ε, δ ≈ 10⁻¹⁷)",
    report="16 + N bytes; 16 + 2·N for ε < 1.5625",
    limit="universe ≤ 2^16 values",
    server_time="N per report",
    use_when="a baseline to compare with",
)

MECHANISMS: Final = (TREE, SUBSET, JL, BUCKET, GLPS, NAIVE_LAPLACE)
"""In the order in which they are shown."""
