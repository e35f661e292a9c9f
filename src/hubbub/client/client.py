"""The client: answers one survey, once in each period, and delivers the response in the background."""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
import time
from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from .background import Background
from .budget import Cap, Number, parse_limit
from .checks import ClientError, LedgerError, SurveyError
from .delivery import Delivery
from .ledger import SURVEY_URL, Ledger, current, period_of
from .sealing import check_relay, is_key_of, seal
from .slots import Slots
from .survey import DeviceSurvey, encode_report, read_survey
from .transport import Missing, TryLater

DEFAULT_MAX_EPSILON: Final = "4"
"""The largest ε of a survey that a client answers unless it is told otherwise."""

RELAY_MAX_EPSILON: Final = "6"
"""The same for a survey that is answered through a relay."""

DEFAULT_SPREAD: Final = 600.0
_LEAST_SECONDS: Final = 0.005  # several times what the slowest text takes
_MOST_SECONDS: Final = 1e6  # the longest wait that works on every system


class Result(NamedTuple):
    """The state of a report.

    Attributes
    ----------
    status : str
        sent: the collector has it. queued: it is in the ledger and will be sent. waiting: the survey has not been
        fetched yet, and the value is only in memory. already: this survey was answered before, in this period if it
        repeats, and no new report was made. refused: nothing was or will be sent. none: nothing was reported.
    detail : str
        The reason in one sentence, or empty.
    """

    status: str
    detail: str = ""


class Client:
    """Answers one survey: once, or once in each of its periods.

    The constructor raises ClientError for wrong arguments. No method raises an error: a Result says what went wrong.

    Parameters
    ----------
    survey : str or bytes
        The survey's address, http(s)://…/v1/surveys/<id>; or its JSON, with the address in `url`. Only the document
        whose SHA-256 is the id in the address is answered. With an address alone the client asks the collector in each
        period whether the survey is still open, before it makes a report.
    url : str, optional
        The survey's address, if `survey` is its JSON. Then a report can be made while the device is offline.
    relay : str, optional
        The address of a relay, for a survey through one. It needs the package `cryptography`.
    max_epsilon : number, optional
        The largest ε that one survey may state: 4, or 6 through a relay.
    month_epsilon, year_epsilon, lifetime_epsilon, lifetime_delta : number, optional
        The largest sums of ε in 30 days, in 365 days and in total, and of δ in total, over all surveys in the ledger.
        The person's own limits in the ledger hold as well: a program can only lower them.
    ledger : path, optional
        The file of the ledger; by default `default_ledger()`.
    timeout : float
        Seconds that the collector may be silent in an exchange, and seconds for the body of its reply.
    spread : float
        Seconds over which reports that earlier processes left in the ledger are spread: each is sent at its own random
        moment, so that their times do not reveal that they come from the same device.
    first_retry, last_retry : float
        Seconds before the first retry; they double for each further one, up to `last_retry`. Each wait is multiplied by
        a random factor from 0.5 to 1.5.
    """

    _id = ""

    def __init__(
        self,
        survey: str | bytes,
        *,
        url: str | None = None,
        relay: str | None = None,
        max_epsilon: Number | None = None,
        month_epsilon: Number | None = None,
        year_epsilon: Number | None = None,
        lifetime_epsilon: Number | None = None,
        lifetime_delta: Number | None = None,
        ledger: str | os.PathLike[str] | None = None,
        timeout: float = 10.0,
        spread: float = DEFAULT_SPREAD,
        first_retry: float = 1.0,
        last_retry: float = 3600.0,
    ) -> None:
        self._relay = "" if relay is None else check_relay(relay)
        self._public = b""  # the key that a report is sealed with, if it goes through a relay
        default = RELAY_MAX_EPSILON if self._relay else DEFAULT_MAX_EPSILON
        self._max_epsilon = parse_limit("max_epsilon", default if max_epsilon is None else max_epsilon)
        asked = {
            "month_epsilon": month_epsilon,
            "year_epsilon": year_epsilon,
            "lifetime_epsilon": lifetime_epsilon,
            "lifetime_delta": lifetime_delta,
        }
        self._asked = Cap(*(None if most is None else parse_limit(name, most) for name, most in asked.items()))
        times = {
            "timeout": timeout,
            "spread": 1.0 if spread == 0 else spread,
            "first_retry": first_retry,
            "last_retry": last_retry,
        }
        for name, wait in times.items():
            if not (isinstance(wait, int | float) and 0 < wait <= _MOST_SECONDS):
                raise ClientError(
                    f"{name} must be above 0 and at most {_MOST_SECONDS:g} seconds, got {name}={str(wait)[:40]!r}"
                )
        document = None if url is None else survey
        address = SURVEY_URL.fullmatch(str(survey if url is None else url))
        if not address:
            # The argument is not shown: on a command line it may be a private value in the wrong place.
            rule = "a survey's address must be http(s)://…/v1/surveys/<64 lower-case hex digits>"
            raise ClientError(f"{rule}, got another text")
        self._url, self._id = address[0], address[1]
        self._survey = None if document is None else self._checked(document)
        self._asked_in = ""  # the period in which the collector last said that it is open; empty if it was given
        self._ledger = Ledger(ledger)
        self._delivery = Delivery(self._ledger, timeout, spread)
        self._held: list[object] = []  # at most one value, until the survey has been fetched
        self._refusal = ""  # why the survey will not be answered
        self._trouble = ""  # why the last try did not deliver everything
        self._background = Background(self._try_everything, first_retry, last_retry)
        self._background.wake()

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
    def choices(self) -> tuple[str, ...]:
        """The names of a closed list, which has no "(other)": any other value is reported as one of them.

        Empty for other surveys, and until the survey has been fetched.
        """
        return () if self._survey is None else self._survey.domain.names

    @property
    def ledger(self) -> Ledger:
        """The ledger that this client uses."""
        return self._ledger

    def report(self, value: object) -> Result:
        """Answer the survey with this value, unless it was answered before (in this period). Does not wait.

        If the survey has been fetched, the report is made and written to the ledger before this returns. It is sent in
        the background as soon as the collector can be reached, by this process or by a later one.
        """
        if self._background.mend_after_fork():
            self._background.wake()
        with self._background.changed:
            if self._background.closed:
                return Result("refused", "the client is closed")
            if self._refusal:
                return Result("refused", self._refusal)
            try:
                if (survey := self._open_survey()) is not None:
                    result = self._respond(survey, value)
                elif self._held or current(self._ledger.load().entries, self._id):
                    result = Result("already")
                else:  # it is answered when the survey has been fetched
                    self._held.append(value)
                    result = Result("waiting")
            except ClientError as error:
                return Result("refused", str(error))
            except Exception as error:  # as in _try_everything
                return Result("refused", f"the client failed ({type(error).__name__})")
            if result.status != "already":
                self._background.wake()
            return result

    def report_any(self, values: Iterable[object], k: int) -> Result:
        """Answer the survey with one of a person's several values, or with none. Exactly one report is always made.

        There are k slots. Each distinct value is in one slot, the others are empty; one slot is drawn uniformly and
        reported. Everybody must use the same k: the analyst multiplies the counts by it, and gets the number of people
        who have a value in any slot (`hubbub hitters --values-per-person`).

        Parameters
        ----------
        values : list
            The person's values; may be empty. Values that are not in the domain fill no slot.
        k : int
            The number of slots, from 1 to 1000. If there are more values, a random choice of k of them gets the slots.

        Returns
        -------
        Result
            As for `report`. It is always "refused" if the survey is about a closed list.
        """
        try:
            return self.report(Slots(values, k))
        except ClientError as error:
            return Result("refused", str(error))
        except Exception as error:  # foreign objects may raise anything
            return Result("refused", f"the client failed ({type(error).__name__})")

    def flush(self, timeout: float = 10.0) -> Result:
        """Wait until the survey's report is delivered or refused, for at most `timeout` seconds; return its state.

        Reports that earlier processes left in the ledger are sent at their own moments; this does not wait for them.
        """
        if self._background.mend_after_fork():
            self._background.wake()
        deadline = time.monotonic() + timeout
        with self._background.changed:
            while (result := self._state()).status in ("queued", "waiting") or self._background.busy:
                left = deadline - time.monotonic()
                if left <= 0 or self._background.closed:
                    break
                self._background.changed.wait(min(left, 0.5))  # another process may deliver it without telling us
            return result

    def close(self) -> None:
        """Stop sending. Queued reports stay in the ledger for a later client; a waiting value is discarded."""
        self._background.mend_after_fork()
        with self._background.changed:
            self._held.clear()
            self._background.close()

    # The response.

    def _checked(self, document: str | bytes) -> DeviceSurvey:
        """Read a survey; refuse it if its id is not the one in the address, or if its ε is too large."""
        survey = read_survey(document)
        if survey.survey_id.hex() != self._id:  # otherwise a survey in two spellings could be answered twice
            raise SurveyError(
                f"the survey must be {self._id[:8]}… as its address says, got {survey.survey_id.hex()[:8]}…"
            )
        if bool(survey.crowd) != bool(self._relay):
            needed = "takes reports through a relay only: give the client one (relay, --relay on the command line)"
            raise SurveyError(f"the survey {needed if survey.crowd else 'takes no reports through a relay'}")
        if survey.epsilon > self._max_epsilon:
            raise SurveyError(
                f"a survey must state at most ε = {self._max_epsilon}, got ε = {survey.epsilon}; "
                "max_epsilon sets this limit, --max-epsilon on the command line"
            )
        return survey

    def _open_survey(self) -> DeviceSurvey | None:
        """Return the survey, if it was given, or was open when this client last asked, in this period if it repeats."""
        survey = self._survey
        if survey is None or self._asked_in not in ("", period_of(survey)):
            return None
        return survey if self._public or not survey.crowd else None

    def _respond(self, survey: DeviceSurvey, value: object) -> Result:
        """Randomise a value and write the report to the ledger, unless the survey was answered before."""
        if type(value) is Slots:  # isinstance would ask the value, which may raise
            value.check(survey.domain)
        make = partial(_make, survey, value, self._public)
        written = self._ledger.add(survey, self._url, make, self._asked, self._relay)
        return Result("queued" if written else "already")

    def _state(self) -> Result:
        """Return the current state of the survey's report."""
        try:
            entry = self._ledger.settled(self._id)
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

    def _try_everything(self) -> float | None:
        """Fetch the survey if necessary, and send pending reports.

        Returns the least number of seconds before the next try; None if nothing is left to do.
        """
        troubles: list[tuple[str, float]] = []
        send = partial(self._delivery.send_pending, self._id, self._background.changed)
        for step in (self._fetch, send):
            try:
                step()
            except TryLater as error:
                troubles.append((str(error), error.seconds))
            except LedgerError as error:
                troubles.append((str(error), 0.0))
            except Exception as error:  # a bug must not reach the host program, and its message may contain a value
                troubles.append((f"the client failed ({type(error).__name__})", 0.0))
        self._trouble = troubles[0][0] if troubles else ""
        return min((seconds for _, seconds in troubles), default=None)

    def _fetch_key(self, survey: DeviceSurvey) -> None:
        """Fetch the public key of a survey through a relay; it must be the one that the survey names."""
        if survey.crowd and not self._public:
            server = self._url.rpartition("/v1/surveys/")[0]
            public = self._delivery.exchange(f"{server}/v1/keys/{survey.sealed_for}", None)
            if not is_key_of(survey, public):
                raise TryLater("the reply was not the key that the survey names")
            self._public = public

    def _fetch(self) -> None:
        """Fetch the survey, unless that was done or it was answered before; answer it if a value is waiting."""
        try:
            is_answered = current(self._ledger.load().entries, self._id)
            if self._open_survey() is None and not self._refusal and not is_answered:
                document = self._delivery.exchange(self._url + "/open", None)
                if hashlib.sha256(document).hexdigest() != self._id:  # a sign-in page, or a collector that cheats
                    raise TryLater("the reply was not the survey that the address names")
                self._survey = self._checked(document)
                self._asked_in = period_of(self._survey)
                self._fetch_key(self._survey)
            with self._background.changed:
                if self._held and (survey := self._open_survey()) is not None:
                    self._respond(survey, self._held[0])
                self._held.clear()  # answered, now or by another client
        except LedgerError:
            raise
        except Missing as error:  # this may be an operator's mistake
            raise TryLater(str(error)) from None
        except ClientError as error:
            with self._background.changed:
                self._refusal = str(error)
                self._held.clear()


def _make(survey: DeviceSurvey, value: object, public: bytes = b"") -> bytes:
    """Return what is sent of a value, with new randomness of the operating system; sealed, if it goes through a relay.

    It takes the time of a class of times, 5, 10, 20, … ms, so that the moment of sending tells less of the value.
    """
    begun = time.perf_counter()
    if type(value) is Slots:
        value = value.draw(survey.domain)
    count = survey.randomizer.random_words
    random_words = struct.unpack(f"<{count}Q", secrets.token_bytes(8 * count))
    report = encode_report(survey, value, random_words)
    batch = seal(survey, public, report) if survey.crowd else survey.batch_header + report
    time.sleep(padding(time.perf_counter() - begun))
    return batch


def padding(seconds: float) -> float:
    """Return how much is missing from a time to its class: the least of 5, 10, 20, … ms that is not below it."""
    whole = _LEAST_SECONDS
    while whole < seconds:
        whole *= 2
    return whole - seconds
