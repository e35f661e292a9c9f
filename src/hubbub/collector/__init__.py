"""The collector: reports over HTTP, sums in the store, answers for the owner.

`create_app` in `app.py` puts it together; `serving.py` runs it. No address, no user agent and no time of a report is
stored or logged anywhere in this package.
"""

from hubbub.extras import require

require("The collector", "fastapi", "server")
