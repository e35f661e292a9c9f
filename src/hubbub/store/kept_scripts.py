"""The scripts that web pages load by their hash. A page that names a script of an older version still gets it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError

from hubbub.errors import StoreUnavailable
from hubbub.store.schema import reading, scripts, writing


def keep_scripts(engine: Engine, bodies: Mapping[str, bytes]) -> None:
    """Store scripts by their names, each once and forever. Takes a few kilobytes for each version of the package."""
    with reading(engine) as connection:
        known = set(connection.scalars(select(scripts.c.name).where(scripts.c.name.in_(list(bodies)))))
    new = [{"name": name, "body": body} for name, body in bodies.items() if name not in known]
    if not new:
        return
    try:
        with writing(engine) as connection:
            connection.execute(insert(scripts), new)
    except StoreUnavailable as error:
        if not isinstance(error.__cause__, IntegrityError):  # else another collector has just stored the same
            raise


def kept_script(engine: Engine, name: str) -> bytes | None:
    """Return the script of this name, or None if no version had one. Costs one short read."""
    with reading(engine) as connection:
        body = connection.scalar(select(scripts.c.body).where(scripts.c.name == name))
    return None if body is None else bytes(body)
