"""The dashboard: pages for the owner of a collector, and a public page for each survey.

`create_app` in `app.py` is the collector's application with these pages. `access.py` says who may see them,
`pages.py` and `forms.py` have the routes, `kept_answers.py` caches answers so that no tally is searched twice. HTML is
made on the server from `templates`; `static` has the style sheet and small JavaScript modules.
"""

from hubbub.extras import require

require("The dashboard", "jinja2", "server")
