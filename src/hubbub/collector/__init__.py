"""The collector: takes reports over HTTP, keeps sums in the store, and answers its owner.

`create_app` in `app.py` builds the application; `serving.py` runs it. No address, no user agent and no time of a report
is stored or logged anywhere in this package.
"""

from hubbub.extras import require

require("The collector", "uvicorn", "server")
