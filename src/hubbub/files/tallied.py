"""The result of adding up files of reports: the tally, and what was left out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from hubbub.model.tally import Tally


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row group or a file that was skipped, and why, as a sentence that names the file.

    `row_group` is None if no row group of the file could be read; then `rows` is 0, since they are not known.
    """

    file: str
    row_group: int | None
    rows: int
    reason: str

    @property
    def place(self) -> tuple[str, int]:
        """What skipped parts are ordered by."""
        return self.file, -1 if self.row_group is None else self.row_group


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
    skipped : tuple of Skipped
        Damaged row groups, and files that are not whole files of this survey, in order.
    """

    rows: int = 0
    invalid: int = 0
    duplicates: int = 0
    conflicts: int = 0
    skipped: tuple[Skipped, ...] = ()

    @property
    def skipped_rows(self) -> int:
        """Rows in row groups that were skipped."""
        return sum(each.rows for each in self.skipped)

    @property
    def skipped_groups(self) -> int:
        """Row groups that were skipped."""
        return sum(each.row_group is not None for each in self.skipped)

    @property
    def skipped_files(self) -> int:
        """Files that were skipped."""
        return sum(each.row_group is None for each in self.skipped)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.rows + other.rows,
            self.invalid + other.invalid,
            self.duplicates + other.duplicates,
            self.conflicts + other.conflicts,
            tuple(sorted(self.skipped + other.skipped, key=lambda each: each.place)),
        )

    def to_bytes(self) -> bytes:
        """The counts as bytes, for files and messages between processes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Counts:
        """The counts that `to_bytes` wrote; a ValueError for other bytes."""
        try:
            found = json.loads(data)
            return cls(**{**found, "skipped": tuple(Skipped(**each) for each in found["skipped"])})
        except (KeyError, TypeError) as error:
            raise ValueError("these bytes must be counts") from error


@dataclass(frozen=True, slots=True)
class Tallied:
    """A tally, and the counts of what was read and left out."""

    tally: Tally
    counts: Counts
