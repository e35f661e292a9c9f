"""The tables about who may read answers, and what is shown to everybody. If you change one, add a step, too."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, Table, Text

from hubbub.store.schema import metadata

readers = Table(
    "hubbub_readers",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of a read-only token
    Column("name", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),  # seconds since 1970
    Column("everything", Integer, nullable=False),  # 1 if it is for all surveys, also later ones
    Column("live", Integer, nullable=False),  # 1 if it sees the slice that goes on, too
)

reader_surveys = Table(
    "hubbub_reader_surveys",
    metadata,
    Column("reader", Text, primary_key=True),  # the hash of a token that is not for everything
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
)

reader_sites = Table(
    "hubbub_reader_sites",
    metadata,
    Column("reader", Text, primary_key=True),  # the hash of a token that is not for everything
    Column("site", BigInteger, primary_key=True, autoincrement=False),  # all its questions, also later ones
)

OF_SURVEYS = (reader_surveys,)
"""Those with rows of a survey, which go with it."""
