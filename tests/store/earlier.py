"""Stores as they were before a step of the tables."""

from __future__ import annotations

from sqlalchemy import Connection, text, update

from hubbub.store.schema import meta

BROUGHT = {
    13: ("TABLE hubbub_pages", "TABLE hubbub_published"),
    12: ("TABLE hubbub_readers", "TABLE hubbub_reader_surveys", "TABLE hubbub_reader_sites", "keys.reader"),
    11: ("TABLE hubbub_sealing_keys", "TABLE hubbub_releases"),
    10: ("TABLE hubbub_questions", "TABLE hubbub_sites"),
    9: ("surveys.id_slice", "surveys.id_waits", "surveys.ids_due", "surveys.ids_purged", "report_ids.slice"),
    8: ("TABLE hubbub_remembered",),
    7: ("TABLE hubbub_names",),
    6: ("TABLE hubbub_slices", "surveys.slice_days", "tallies.slice", "pending.slice"),
}
"""What each version brought, the newest first: tables, and columns of others."""


def turn_back(connection: Connection, version: int) -> None:
    """Make a store one of an earlier version, from 5 on: drop what later versions brought."""
    for since, things in BROUGHT.items():
        for thing in things if since > version else ():
            table, _, column = thing.partition(".")
            dropped = f"ALTER TABLE hubbub_{table} DROP COLUMN {column}" if column else f"DROP {thing}"
            connection.execute(text(dropped))
    connection.execute(update(meta).where(meta.c.name == "schema_version").values(value=str(version)))
