"""A crowd, from a file or from columns: people's values in chunks, whose they are, and how many are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from hubbub.errors import InputError
from hubbub.inputs.columns import read_column, read_rows
from hubbub.inputs.owners import Owners, choose_rows, number_owners
from hubbub.model.plain import Value


@dataclass(frozen=True, eq=False)
class Crowd:
    """The values of at least one person, which can be read any number of times.

    It is a context manager, which removes temporary files at its end.

    Attributes
    ----------
    count : int
        The number of people who hold a value.
    missing : int
        The number of rows without a value.
    read : function of a number
        Yields the values in order, in sequences of at most this many.
    owners : Owners or None
        If everybody may have several values: the owner of each. Then `count` includes people without any value.
    over : int
        The number of people with several different values, of which one was chosen; 0 if there are `owners`.
    resources : ExitStack
        Closed at the end.
    """

    count: int
    missing: int
    read: Callable[[int], Iterator[Sequence[Value]]] = field(repr=False)
    owners: Owners | None = field(default=None, repr=False)
    over: int = field(default=0, repr=False)
    resources: ExitStack = field(default_factory=ExitStack, repr=False)

    def chunks(self, size: int = 65_536) -> Iterator[Sequence[Value]]:
        """Yield the values in order, in sequences of at most ``size``. Every call yields the same.

        One value for each person; with `owners`, all values of each.
        """
        return self.read(size)

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()


def read_crowd(
    values: Iterable[object], persons: Iterable[object] | None, seed: int | None, all_values: bool = False
) -> Crowd:
    """The people of Python columns: one value each, or `all_values`, with their owners.

    `persons` names the person of each value; without it, every value belongs to a different person.
    """
    owners, over = None, 0
    held: Sequence[Value]
    if persons is None:
        held, missing = read_column(values)
    else:
        rows, names = read_rows(values), read_rows(persons)
        if len(rows) != len(names):
            raise InputError(f"persons must be as many as values, got {len(names):,} and {len(rows):,}")
        if all_values:
            owners = number_owners(zip(names, rows, strict=True))
            chosen, missing = owners.rows, owners.missing
        else:
            chosen, missing, over = choose_rows(zip(names, rows, strict=True), seed)
        held = [value for value in map(rows.__getitem__, chosen) if value is not None]
    if not held:
        nobody = f"none, and {missing:,} missing" if missing else "none"
        raise InputError(f"values must hold at least one person's value, got {nobody}")

    def read(size: int) -> Iterator[Sequence[Value]]:
        """Yield parts of the column."""
        return (held[start : start + size] for start in range(0, len(held), size))

    return Crowd(len(held) if owners is None else owners.people, missing, read, owners, over)
