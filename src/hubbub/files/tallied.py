"""The result of adding up files of reports: the tally, and counts of what was left out."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from hubbub.model.tally import Tally


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows were read and left out. Counts of disjoint rows, or of disjoint ids, can be added.

    Attributes
    ----------
    rows : int
        Rows that were read.
    invalid : int
        Rows that no honest device could have sent, or that are not reports. They are not in the tally.
    duplicates : int
        Valid reports that were left out, because each id counts once. It is 0 if ids were not compared.
    conflicts : int
        Ids that came with different payloads. The smallest payload is in the tally.
    skipped_rows, skipped_groups, skipped_files : int
        What was damaged and skipped: rows in damaged row groups, these row groups, and files that cannot be opened.
    """

    rows: int = 0
    invalid: int = 0
    duplicates: int = 0
    conflicts: int = 0
    skipped_rows: int = 0
    skipped_groups: int = 0
    skipped_files: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all counts, in order."""
        return tuple(field.name for field in fields(cls))


@dataclass(frozen=True, slots=True)
class Tallied:
    """A tally, and the counts of what was read and left out."""

    tally: Tally
    counts: Counts
