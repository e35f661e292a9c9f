"""Stores as they were before a step of the tables."""

from __future__ import annotations

from sqlalchemy import text, update

from hubbub.store.schema import meta, writing
from hubbub.store.store import Store

TABLES = {7: ("names",), 8: ("remembered",), 9: ("sites", "questions")}
"""Tables by the version that brought them."""


def turn_back(store: Store, version: int) -> None:
    """Make a store one of an earlier version, from 6 on: drop what later versions brought."""
    with writing(store.engine) as connection:
        for table in [table for since, some in TABLES.items() if since > version for table in some]:
            connection.execute(text(f"DROP TABLE hubbub_{table}"))
        connection.execute(update(meta).where(meta.c.name == "schema_version").values(value=str(version)))
