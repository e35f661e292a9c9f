"""The relay: takes sealed reports, holds them until a crowd waits, and passes them on in random order.

It cannot read them. No address, no header and no time finer than the day of a request is stored or logged anywhere in
this package, and it needs neither numpy nor SQLAlchemy.
"""

from hubbub.extras import require

require("The relay", "uvicorn", "relay")
