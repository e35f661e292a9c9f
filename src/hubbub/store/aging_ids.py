"""When report ids may go: 14 days after their slice is over. Clients give a report up after 7.

An id must stay as long as somebody may send its report again. Clocks can be wrong, so no single look at one decides.
New ids are noted with the newest slice that a steady clock has seen, `id_slice`, whatever it says when they come.
When such a clock first sees a later one, this moment is kept in `id_ends` for the slice before. All its ids are older.
If the clock goes back, the moment is set back, too. 14 days after it the ids are due: the next `purge` deletes them.
A survey through a relay keeps its ids until it closes: a relay may hold a report for longer, and it closes in a year.
"""

from __future__ import annotations

import json
from typing import Final

from sqlalchemy import select, update

from hubbub.store.schema import reading, sealing_keys, surveys, writing
from hubbub.store.slices import slice_of
from hubbub.store.store import Store

KEPT_SECONDS: Final = 14 * 86_400
"""How long ids are kept after their slice is over."""


def note_old_ids(store: Store, now: int, trusted: bool) -> None:
    """Note which slices are over, and which ids are due. `now` is in seconds since 1970.

    Does nothing unless the clock can be `trusted`, since it has been steady for a while. Costs one read.
    """
    if not trusted:
        return
    is_over = surveys.c.id_slice + surveys.c.slice_days <= now // 86_400
    not_sealed = surveys.c.key.not_in(select(sealing_keys.c.survey))
    columns = (surveys.c.key, surveys.c.slice_days, surveys.c.id_slice, surveys.c.id_ends, surveys.c.ids_due)
    with reading(store.engine) as connection:
        query = select(*columns).where(surveys.c.state == "open", is_over | (surveys.c.id_ends != "{}"), not_sealed)
        rows = connection.execute(query).all()
    for row in rows:
        newest = max(row.id_slice, slice_of(now // 86_400, row.slice_days))
        ends = {int(start): min(end, now) for start, end in json.loads(row.id_ends).items()}
        if newest > row.id_slice:
            ends[row.id_slice] = now
        due = [start for start, end in ends.items() if end + KEPT_SECONDS <= now]
        kept = json.dumps({start: end for start, end in ends.items() if start not in due})
        before = [] if row.ids_due is None else [row.ids_due]
        values = {"id_slice": newest, "id_ends": kept, "ids_due": max([*due, *before], default=None)}
        if due or (newest, kept) != (row.id_slice, row.id_ends):
            # Another collector may have noted it meanwhile.
            mine = (surveys.c.key == row.key, surveys.c.id_ends == row.id_ends, surveys.c.id_slice == row.id_slice)
            with writing(store.engine) as connection:
                connection.execute(update(surveys).where(*mine).values(**values))
