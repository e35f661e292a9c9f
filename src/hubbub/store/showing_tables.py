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

pages = Table(
    "hubbub_pages",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("shown", Integer, nullable=False),  # 1 if everybody may see the answer about slices that have ended
    Column("hidden", Text, nullable=False),  # values that nobody is shown, as a JSON list
    Column("lang", Text, nullable=False),  # the language of `texts`, as HTML names it
    Column("texts", Text, nullable=False),  # what the owner says instead of hubbub's words, as a JSON object
    Column("webhook", Text),  # where to send each answer that is shown; NULL for nowhere
    Column("secret", Text),  # signs what is sent there; not a hash, since signing needs it
)

published = Table(
    "hubbub_published",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("until", Integer, primary_key=True, autoincrement=False),  # the first day after its last slice, since 1970
    Column("made", BigInteger, nullable=False),  # seconds since 1970
    Column("final", Integer, nullable=False),  # 1 if the survey was closed
    Column("answer", Text, nullable=False),  # hubbub.analysis.reply, as JSON
    Column("tries", Integer, nullable=False),  # how often it was sent to the webhook
    Column("next_try", BigInteger),  # seconds since 1970; NULL if there is nothing to send
)

OF_SURVEYS = (reader_surveys, pages, published)
"""Those with rows of a survey, which go with it."""
