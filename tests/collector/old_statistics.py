"""A purge on a PostgreSQL whose statistics are old: as if nearly all ids had come since it last looked at the table."""

from __future__ import annotations

import psycopg
from tests.collector.own_cell import build, own_cell_survey

from hubbub.store.life_cycle import delete_survey, purge
from hubbub.store.store import Store

OTHERS = 100
MOST_READS = 6


def purge_with_old_statistics(database: str, ids: int) -> float:
    """Purge a survey with so many ids; return how often each of them was read. Other surveys must keep theirs."""
    with Store(database, build) as store:
        first, second = (store.add_survey(own_cell_survey(10, name)) for name in ("first", "second"))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE hubbub_report_ids SET (autovacuum_enabled = off)")
        some = "INSERT INTO hubbub_report_ids SELECT %s, decode(md5(n::text), 'hex') FROM generate_series(1, %s) n"
        connection.execute(some, [first.key, OTHERS])
        connection.execute("ANALYZE hubbub_report_ids")
        connection.execute(some, [second.key, ids])
    before = _rows_read(database)
    with Store(database, build) as store:
        delete_survey(store, second.survey_id)
        assert purge(store)
    reads = (_rows_read(database) - before) / ids
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM hubbub_report_ids").fetchone() == (OTHERS,)
    assert reads < MOST_READS, "it reads ids again and again"
    return reads


def _rows_read(database: str) -> int:
    """How many rows of the table of ids were read since it was made."""
    query = (
        "SELECT seq_tup_read + idx_tup_fetch + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = %s) "
        "FROM pg_stat_user_tables WHERE relname = %s"
    )
    with psycopg.connect(database) as connection:
        (found,) = connection.execute(query, ["hubbub_report_ids"] * 2).fetchone()
    return int(found)
