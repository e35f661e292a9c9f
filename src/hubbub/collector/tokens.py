"""The owner's routes about read-only tokens: make one, list who has what, and revoke one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from fastapi import Response

from hubbub.collector.documents import NewReadToken, ReadToken, ReadTokenList, ReadTokenMade
from hubbub.collector.owner_route import Owner, OwnerRoute, owner_router
from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import parse_id
from hubbub.store.readers import Reader, add_reader, readers_by_hash, revoke_reader

router = owner_router(OwnerRoute)


@router.post("/tokens", status_code=201, responses=refusals({404: "There is no such survey or site."}))
async def make_token(new: NewReadToken, owner: Owner, response: Response) -> ReadTokenMade:
    """Make a token that reads the answers of some surveys, or of all. Its text is in this reply, and in no other."""
    wanted = None if new.surveys is None else [parse_id(each) for each in new.surveys]
    made, token = await asyncio.to_thread(add_reader, owner.store.engine, new.name, wanted, new.live, new.sites)
    response.headers["Cache-Control"] = "no-store"
    return ReadTokenMade(**document(made).model_dump(), token=token)


@router.get("/tokens")
async def list_tokens(owner: Owner) -> ReadTokenList:
    """List the read-only tokens, the oldest first: who has what."""
    found = await asyncio.to_thread(readers_by_hash, owner.store.engine)
    return ReadTokenList(tokens=[document(each) for each in found.values()])


@router.delete("/tokens/{token_id}", status_code=204, responses=refusals({404: "There is no such token."}))
async def revoke_token(token_id: str, owner: Owner) -> None:
    """Make a read-only token invalid, and end the sessions that it opened."""
    if not await asyncio.to_thread(revoke_reader, owner.store.engine, token_id):
        raise Problem("not-found", "there is no read-only token of this id")


def document(reader: Reader) -> ReadToken:
    """Return a read-only token as its owner sees it."""
    return ReadToken(
        id=reader.id,
        name=reader.name,
        surveys=None if reader.everything else sorted(reader.surveys),
        sites=sorted(reader.sites),
        live=reader.live,
        created=datetime.fromtimestamp(reader.created, UTC).isoformat(),
    )
