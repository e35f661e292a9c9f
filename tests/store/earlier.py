"""Stores as they were before a step of the tables."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text, update

from hubbub.store.migrations import STEPS
from hubbub.store.schema import meta, writing
from hubbub.store.store import Store

UNDONE: Final = {
    "names_of_surveys": ("DROP TABLE hubbub_names",),
    "remembered_names": ("DROP TABLE hubbub_remembered",),
    "ids_of_slices": (
        *(
            f"ALTER TABLE hubbub_surveys DROP COLUMN {name}"
            for name in ("id_slice", "id_ends", "ids_due", "ids_purged")
        ),
        "ALTER TABLE hubbub_report_ids DROP COLUMN slice",
    ),
    "read_only_tokens": (
        "DROP TABLE hubbub_readers",
        "DROP TABLE hubbub_reader_surveys",
        "ALTER TABLE hubbub_keys DROP COLUMN reader",
    ),
}
"""What undoes a step, by its name, for the steps from version 7 on."""


def before(step: str) -> int:
    """Return the version of the tables before a step."""
    return 1 + [each.__name__.strip("_") for each in STEPS].index(step)


def undo(connection: Connection, version: int) -> None:
    """Make the tables those of an earlier version, from 6 on: drop what later steps brought."""
    for step in reversed(STEPS[version - 1 :]):
        for statement in UNDONE[step.__name__.strip("_")]:
            connection.execute(text(statement))
    connection.execute(update(meta).where(meta.c.name == "schema_version").values(value=str(version)))


def turn_back(store: Store, version: int) -> None:
    """Make a store one of an earlier version, from 6 on."""
    with writing(store.engine) as connection:
        undo(connection, version)
