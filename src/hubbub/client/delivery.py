"""The client: one survey, one answer, delivered in the background."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
import threading
import time
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from .checks import ClientError, LedgerError, SurveyError
from .ledger import SURVEY_URL, Entry, Ledger
from .survey import DeviceSurvey, encode_batch, encode_report, read_survey
from .transport import Refused, TryLater, exchange

Number = Decimal | float | str
DEFAULT_MAX_EPSILON: Final = "4"
"""The largest ε of a survey that a client answers unless it is told otherwise."""

_MOST_SECONDS: Final = 1e6  # every system can wait as long


class Result(NamedTuple):
    """What became of a report.

    Attributes
    ----------
    status : str
        sent: the collector has it. queued: it is in the ledger and will be sent. waiting: the survey is not here yet,
        the value is in memory only. already: this survey was answered before, nothing new was made. refused: nothing
        was or will be sent. none: nothing was reported.
    detail : str
        Why, in a sentence; may be empty.
    """

    status: str
    detail: str = ""


class Client:
    """Answers one survey, once.

    The constructor raises ClientError on wrong arguments. After that nothing raises: what goes wrong is in a Result.

    Parameters
    ----------
    survey : str or bytes
        The survey's address, http(s)://…/v1/surveys/<id>; or its JSON, with the address in `url`. An address is a pin:
        only the survey whose SHA-256 is the id is answered.
    url : str, optional
        The survey's address, if its JSON is at hand: then a report can be made while the device is offline.
    max_epsilon : number
        The largest ε that one survey may state.
    lifetime_epsilon, lifetime_delta : number
        The largest sums of ε and δ over all surveys in the ledger.
    ledger : path, optional
        Where the ledger is; `default_ledger()` without it.
    timeout : float
        Seconds that the collector may be silent in an exchange, and seconds for the body of its reply.
    first_retry, last_retry : float
        Seconds before the first retry; twice as many before each next one, up to the last; each half to one and a half
        times as long at random.
    """

    _id = ""

    def __init__(
        self,
        survey: str | bytes,
        *,
        url: str | None = None,
        max_epsilon: Number = DEFAULT_MAX_EPSILON,
        lifetime_epsilon: Number = "10",
        lifetime_delta: Number = "1e-6",
        ledger: str | os.PathLike[str] | None = None,
        timeout: float = 10.0,
        first_retry: float = 1.0,
        last_retry: float = 3600.0,
    ) -> None:
        self._max_epsilon = _limit("max_epsilon", max_epsilon)
        self._cap = _limit("lifetime_epsilon", lifetime_epsilon), _limit("lifetime_delta", lifetime_delta)
        self._timeout = _seconds("timeout", timeout)
        self._retries = _seconds("first_retry", first_retry), _seconds("last_retry", last_retry)
        document = None if url is None else survey
        address = SURVEY_URL.fullmatch(str(survey if url is None else url))
        if not address:
            # Not shown: on a command line it may be a value in the wrong place.
            raise ClientError("a survey's address must be http(s)://…/v1/surveys/<64 hex digits>, got something else")
        self._url, self._id = address[0], address[1]
        self._survey = None if document is None else self._checked(document)
        self._ledger = Ledger(ledger)
        self._held: list[object] = []  # at most one value, until the survey is here
        self._refusal = ""
        self._not_before: dict[str, tuple[float, str]] = {}  # by address: when it may be tried again, and why not now
        self._closed = False
        self._reset()
        self._wake()

    def __repr__(self) -> str:
        return f"Client(survey {self._id[:8]}…)"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def survey_id(self) -> str:
        """The id of the survey, in hex."""
        return self._id

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self._ledger

    def report(self, value: object) -> Result:
        """Answer the survey with this value, if it was not answered before. Returns at once; never raises.

        The answer is made and written to the ledger before this returns, if the survey is here. It is sent in the
        background, now or as soon as the collector can be reached, by this process or by a later one.
        """
        self._mend_after_fork()
        with self._changed:
            result = self._take(value)
            if result.status in ("queued", "waiting"):
                self._wake()
            return result

    def flush(self, timeout: float = 10.0) -> Result:
        """Wait until the survey's report is delivered or refused, at most so many seconds; what became of it.

        Reports that others left in the ledger are tried once before this returns.
        """
        self._mend_after_fork()
        deadline = time.monotonic() + timeout
        with self._changed:
            while (result := self._state()).status in ("queued", "waiting") or self._busy:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed:
                    break
                self._changed.wait(min(left, 0.5))  # another process may deliver it, and nobody tells us
            return result

    def close(self) -> None:
        """Stop sending. What is queued stays in the ledger, for the next client that uses it; a held value goes."""
        if self._process != os.getpid():  # as in _mend_after_fork, but with nothing to wake
            self._reset()
        with self._changed:
            self._closed = True
            self._held.clear()
            self._changed.notify_all()

    # The answer.

    def _checked(self, document: str | bytes) -> DeviceSurvey:
        survey = read_survey(document)
        if survey.survey_id.hex() != self._id:  # or a survey in two spellings would be answered twice
            raise SurveyError(
                f"the survey must be {self._id[:8]}… as its address says, got {survey.survey_id.hex()[:8]}…"
            )
        if survey.epsilon > self._max_epsilon:
            raise SurveyError(
                f"a survey must state at most ε = {self._max_epsilon}, got ε = {survey.epsilon}; "
                "max_epsilon sets this limit, --max-epsilon on the command line"
            )
        return survey

    def _take(self, value: object) -> Result:
        if self._closed:
            return Result("refused", "the client is closed")
        if self._refusal:
            return Result("refused", self._refusal)
        try:
            if self._survey is not None:
                return self._answer(self._survey, value)
            if self._held or self._id in self._ledger.read():
                return Result("already")
        except ClientError as error:
            return Result("refused", str(error))
        except Exception as error:  # as in _try_everything
            return Result("refused", f"the client failed ({type(error).__name__})")
        self._held.append(value)
        return Result("waiting")

    def _answer(self, survey: DeviceSurvey, value: object) -> Result:
        count = survey.randomizer.words
        words = struct.unpack(f"<{count}Q", secrets.token_bytes(8 * count))
        batch = encode_batch(survey, encode_report(survey, value, words))
        written = self._ledger.add(survey, self._url, batch, self._cap)
        return Result("queued" if written else "already")

    def _state(self) -> Result:
        try:
            entry = self._ledger.read().get(self._id)
        except LedgerError as error:
            return Result("refused", str(error))
        if entry is not None and entry["state"] == "pending":
            return Result("queued", self._trouble)
        if entry is not None:
            return Result(entry["state"], entry["detail"])
        if self._refusal:
            return Result("refused", self._refusal)
        return Result("waiting", self._trouble) if self._held else Result("none")

    # The background.

    def _reset(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._woken = self._busy = False
        self._trouble = ""

    def _mend_after_fork(self) -> None:
        if self._process != os.getpid():  # the thread stayed in the parent, perhaps with the lock in its hands
            self._reset()
            self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._woken = self._busy = not self._closed
            self._changed.notify_all()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="hubbub-client", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending: the ledger keeps the report
                    self._thread, self._busy = None, False

    def _run(self) -> None:
        """Until nothing is left to do: try everything, wait, try again."""
        delay, last = self._retries
        while True:
            with self._changed:
                self._woken = False
            wait = None if self._closed else self._try_everything()
            with self._changed:
                self._busy = self._woken
                self._changed.notify_all()
                if self._closed or (wait is None and not self._woken):
                    self._thread = None
                    return
                if wait is not None and not self._woken:
                    jitter = 0.5 + secrets.randbelow(1 << 32) / 2**32
                    self._changed.wait(max(wait, delay * jitter))
                    delay = min(2 * delay, last)
                if self._woken:  # there is something new to do
                    delay = self._retries[0]
                self._busy = True

    def _try_everything(self) -> float | None:
        """Fetch the survey if it is not here, send what is pending; the seconds to wait, None if nothing is left."""
        troubles: list[tuple[str, float]] = []
        for step in (self._fetch, self._send_pending):
            try:
                step()
            except TryLater as error:
                troubles.append((str(error), error.seconds))
            except LedgerError as error:
                troubles.append((str(error), 0.0))
            except Exception as error:  # a defect of ours must not reach the host program; its text might tell a value
                troubles.append((f"the client failed ({type(error).__name__})", 0.0))
        self._trouble = troubles[0][0] if troubles else ""
        return min((seconds for _, seconds in troubles), default=None)

    def _exchange(self, url: str, body: bytes | None) -> bytes:
        """An exchange, unless this address asked for more patience: then its trouble again, with the seconds left."""
        when, trouble = self._not_before.get(url, (0.0, ""))
        if (left := when - time.monotonic()) > 0:
            raise TryLater(trouble, left)
        try:
            return exchange(url, body, self._timeout)
        except TryLater as error:
            self._not_before[url] = time.monotonic() + error.seconds, str(error)
            raise

    def _fetch(self) -> None:
        """Bring the survey here unless it was answered before, and answer it if a value waits for it."""
        try:
            if self._survey is None and not self._refusal and self._id not in self._ledger.read():
                document = self._exchange(self._url, None)
                if hashlib.sha256(document).hexdigest() != self._id:  # a hotel's network, or a collector that cheats
                    raise TryLater("the reply was not the survey that the address names")
                self._survey = self._checked(document)
            with self._changed:
                if self._held and self._survey is not None:
                    self._answer(self._survey, self._held[0])
                self._held.clear()  # answered, or another client was quicker
        except LedgerError:
            raise
        except ClientError as error:
            with self._changed:
                self._refusal = str(error)
                self._held.clear()

    def _send_pending(self) -> None:
        """Everything in the ledger, this survey's report first: earlier processes may have left some."""
        entries = self._ledger.read()
        later = []
        for survey_id in sorted(entries, key=lambda each: each != self._id):
            entry = entries[survey_id]
            if entry["state"] == "pending":
                try:
                    self._ledger.settle(survey_id, *self._send(entry))
                except TryLater as error:
                    later.append(error)
                with self._changed:
                    self._changed.notify_all()
        if later:
            raise TryLater(str(later[0]), min(error.seconds for error in later))

    def _send(self, entry: Entry) -> tuple[str, str]:
        try:
            reply = self._exchange(entry["url"] + "/reports", bytes.fromhex(entry["report"]))
        except Refused as error:
            return "refused", str(error)
        try:
            status = json.loads(reply)["statuses"]
        except (ValueError, KeyError, TypeError, RecursionError):
            status = None
        if status == ["invalid"]:
            return "refused", "the collector found the report invalid"
        if status not in (["accepted"], ["duplicate"]):
            raise TryLater("the reply was not a collector's")
        return "sent", ""


def _seconds(name: str, value: float) -> float:
    if not (isinstance(value, int | float) and 0 < value <= _MOST_SECONDS):
        raise ClientError(
            f"{name} must be above 0 and at most {_MOST_SECONDS:g} seconds, got {name}={str(value)[:40]!r}"
        )
    return value


def _limit(name: str, value: Number) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not (number.is_finite() and number >= 0):
        raise ClientError(f"{name} must be a number from 0 up, got {name}={str(value)[:40]!r}")
    return number
