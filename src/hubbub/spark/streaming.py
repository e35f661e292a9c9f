"""Structured Streaming: merges the tally of each batch into a collector's tally, once."""

from __future__ import annotations

import logging
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame

from hubbub.errors import ParameterError, ServiceError
from hubbub.model.survey import Survey
from hubbub.spark.tallying import tally, tally_slices
from hubbub.wire.tally_file import encode_tally

log = logging.getLogger("hubbub.spark")

_SECONDS: Final = 600
_KEY_REUSED: Final = 409
_QUERY: Final = "sql.streaming.queryId"


def merge_into(
    url: str, survey: Survey, token: str, *, query: str | None = None, time: str | None = None
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch`: it counts a batch of reports, each id once, and merges the tally on a collector.

    The idempotency key is the id of the query with the number of the batch, both of which are in the query's
    checkpoint. So a batch that Spark repeats after a failure counts once. If its tally comes out differently the second
    time, as it may if an id has several payloads, the first tally stays. Ids are compared within a batch; if a report
    may come again in a later batch, drop duplicates in the stream before (see docs/scaling.md).

    Parameters
    ----------
    url : str
        The survey's address, http(s)://…/v1/surveys/ID.
    survey : Survey
        The survey.
    token : str
        The owner's token.
    query : str, optional
        A name for the query that outlives its checkpoint, in place of its id. A batch with another tally under the
        same number is then an error, since the name may have been used for other reports.
    time : str, optional
        The column that says when a report came, a date or a timestamp. Each batch is then cut into days, in UTC, and
        each day is merged into its slice, under a key that ends with it; rows without a time are left out. By default a
        batch is of the day on which it is merged, however late that is.
    """
    if not re.fullmatch(r"https?://[^?#]+/v1/surveys/" + survey.survey_id.hex(), url):
        raise ParameterError(f"url must be the address of this survey, got {url[:200]!r}")

    def merge(batch: DataFrame, number: int) -> None:
        """Count one batch and merge it."""
        name = query or batch.sparkSession.sparkContext.getLocalProperty(_QUERY)
        if not name:
            raise ParameterError("query must be given if Spark does not state the id of the query, got none")
        if time is None:
            sums = {"": tally(batch, survey)}
        else:
            sums = {f"-{day}": each for day, each in tally_slices(batch, survey, time, slice_days=1).items()}
        for ending, each in sums.items():
            _send(url, token, f"{name}-{number}{ending}", encode_tally(each), may_differ=query is None)

    return merge


def _send(url: str, token: str, key: str, body: bytes, may_differ: bool) -> None:
    """Send a tally. If this fails, the query fails, and repeats the batch when it is restarted.

    With `may_differ`, the key stands for exactly these reports: if another tally was merged under it, they have been
    counted, and nothing is left to do.
    """
    headers = {
        "Authorization": f"Bearer {token}",
        "Idempotency-Key": key,
        "Content-Type": "application/octet-stream",
    }
    request = urllib.request.Request(f"{url}/tallies", body, headers, method="POST")  # noqa: S310  # http, as checked
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:  # noqa: S310
            reply.read()
    except urllib.error.HTTPError as error:
        if may_differ and error.code == _KEY_REUSED:
            log.warning("batch %s was merged before, with another tally, which stays", key)
            return
        raise ServiceError(f"the collector refused the tally {key!r} ({error.code})") from None
    except OSError as error:
        raise ServiceError(f"the collector could not be reached for the tally {key!r} ({error})") from None
