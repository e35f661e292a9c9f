"""What came of files of reports: their tally, and what was left out."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from hubbub.model.tally import Tally


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read and what was left out. Counts of different rows and different ids add up.

    Attributes
    ----------
    rows : int
        Rows that were read.
    invalid : int
        Rows that no honest device can have sent, or that are no reports at all. They are not in the tally.
    duplicates : int
        Valid reports that were left out, because their id counts once. It is 0 where ids were not compared.
    conflicts : int
        Ids that came with different payloads. The smallest payload is the one in the tally.
    skipped_rows, skipped_groups, skipped_files : int
        What was damaged and skipped: rows and their row groups, and files of which nothing is known.
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
    """A tally, and the counts of what is and what is not in it."""

    tally: Tally
    counts: Counts
