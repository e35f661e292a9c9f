"""When report ids may go: 14 days after their slice is over. Clients give a report up after 7.

An id must stay as long as somebody may send its report again. Clocks can be wrong, so no single look at one decides.
New ids are noted with the newest slice that a steady clock has seen, `id_slice`, whatever it says when they come. When
such a clock first sees a later one, the ids of the slice before begin to wait. What a steady clock advances is added
up, a day between two looks at most, and a clock that goes back adds nothing. After 14 days the ids are due: the next
`purge` deletes them. So no jump makes an id go too early; a clock that was ahead makes it stay for longer.
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
"""How long ids wait after their slice is over."""

MOST_SECONDS: Final = 86_400
"""The most that the clock may have advanced between two looks; more is a jump, or the collector was away."""

_STEP_SECONDS: Final = 3_600  # a look after less time is not written down


def note_old_ids(store: Store, now: int, trusted: bool) -> None:
    """Note which slices are over, and which ids are due. `now` is in seconds since 1970.

    Does nothing unless the clock can be `trusted`, since it has been steady for a while. Costs one read.
    """
    if not trusted:
        return
    is_over = surveys.c.id_slice + surveys.c.slice_days <= now // 86_400
    not_sealed = surveys.c.key.not_in(select(sealing_keys.c.survey))
    columns = (surveys.c.key, surveys.c.slice_days, surveys.c.id_slice, surveys.c.id_waits, surveys.c.ids_due)
    with reading(store.engine) as connection:
        query = select(*columns).where(surveys.c.state == "open", is_over | (surveys.c.id_waits != "{}"), not_sealed)
        rows = connection.execute(query).all()
    for row in rows:
        noted = json.loads(row.id_waits)
        seen, waits = int(noted.get("seen", now)), {int(start): int(s) for start, s in noted.get("waits", {}).items()}
        newest = max(row.id_slice, slice_of(now // 86_400, row.slice_days))
        if newest == row.id_slice and now - seen < _STEP_SECONDS:
            continue
        waits = {start: waited + min(max(now - seen, 0), MOST_SECONDS) for start, waited in waits.items()}
        if newest > row.id_slice:
            waits[row.id_slice] = 0
        due = [start for start, waited in waits.items() if waited >= KEPT_SECONDS]
        left = {start: waited for start, waited in waits.items() if start not in due}
        before = [] if row.ids_due is None else [row.ids_due]
        values = {
            "id_slice": newest,
            "id_waits": json.dumps({"seen": max(seen, now), "waits": left} if left else {}),
            "ids_due": max([*due, *before], default=None),
        }
        # Another collector may have noted it meanwhile.
        mine = (surveys.c.key == row.key, surveys.c.id_waits == row.id_waits, surveys.c.id_slice == row.id_slice)
        with writing(store.engine) as connection:
            connection.execute(update(surveys).where(*mine).values(**values))
