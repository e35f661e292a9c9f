"""A collector for the client to talk to over real HTTP, which fails in the ways it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hubbub import Survey, mechanism_for
from hubbub.wire.report_batch import parse_batch


class Peer:
    """Surveys by id, the reports that were counted, everything that arrived, and the faults still to come.

    A fault is a word for one request, taken in order: see `_Handler`. Without one the request is served.
    """

    def __init__(self, *surveys: Survey) -> None:
        self.surveys = {survey.survey_id.hex(): survey for survey in surveys}
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.posted: list[bytes] = []
        self.trace: list[tuple[object, ...]] = []  # all that a server sees, but for the random bytes of a report
        self.counted: dict[bytes, bytes] = {}
        self.lock = threading.Lock()
        self.released = threading.Event()  # what a slow reply waits for
        self.base = ""
        self.gone = False  # whether all surveys are over
        self.headers: dict[str, str] = {}

    def url(self, survey: Survey) -> str:
        """The address of a survey here."""
        return f"{self.base}/v1/surveys/{survey.survey_id.hex()}"

    def count(self, survey: Survey, body: bytes) -> dict[str, object]:
        """Count each report once, by its id."""
        mechanism = mechanism_for(survey)
        reports = parse_batch(body, survey.survey_id, mechanism.report_dtype)
        statuses = []
        for report, valid in zip(reports, mechanism.validate(reports), strict=True):
            report_id = report["id"].tobytes()
            statuses.append("invalid" if not valid else "duplicate" if report_id in self.counted else "accepted")
            if statuses[-1] == "accepted":
                self.counted[report_id] = report.tobytes()
        return {**{name: statuses.count(name) for name in ("accepted", "duplicate", "invalid")}, "statuses": statuses}


class _Handler(BaseHTTPRequestHandler):
    peer: Peer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """A survey."""
        self._serve(None)

    def do_POST(self) -> None:
        """A batch."""
        self._serve(self.rfile.read(int(self.headers["Content-Length"])))

    def _serve(self, body: bytes | None) -> None:
        peer = self.peer
        with peer.lock:
            peer.requests.append(f"{self.command} {self.path}")
            peer.headers = dict(self.headers)
            size = None if body is None else len(body)
            peer.trace.append((self.requestline, *self.headers.items(), None if body is None else body[:33], size))
            if body is not None:
                peer.posted.append(body)
            fault = peer.faults.pop(0) if peer.faults else ""
            survey = peer.surveys.get(self.path.removesuffix("/reports").removesuffix("/open").rpartition("/")[2])
            reply = b""
            if survey is not None and body is not None and fault in ("", "lost reply", "half a reply", "slow"):
                reply = json.dumps(peer.count(survey, body)).encode()
            elif survey is not None and body is None:
                reply = survey.to_json()
        self._reply(fault, reply, survey is not None)

    def _reply(self, fault: str, reply: bytes, known: bool) -> None:
        if fault in ("drop", "lost reply"):
            self.close_connection = True
            return
        if fault == "slow":
            self.peer.released.wait(60)
        status, kind, more = 200, "application/json", {}
        if fault.startswith("problem"):
            _, code, *wait = fault.split()
            status, kind, reply = (
                int(code),
                "application/problem+json",
                b'{"title": "No\x1b[31m thanks"}'.replace(b"\x1b", b""),
            )
            more = {"Retry-After": wait[0]} if wait else {}
        elif fault.startswith("page"):  # what a network that wants a password answers in the collector's place
            status, kind, reply = int(fault.split()[1]), "text/html", b"<html>Sign in</html>"
        elif fault.startswith("redirect"):
            _, place, *code = fault.split()
            status, kind, reply, more = int(code[0]) if code else 307, "text/plain", b"", {"Location": place}
        elif fault == "endless":
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            self.wfile.write(b" " * (5 << 20))
            return
        elif fault == "other survey":
            reply = next(survey.to_json() for survey in self.peer.surveys.values() if survey.to_json() != reply)
        elif self.peer.gone:
            status, reply = 204, b""
        elif not known:
            status, kind, reply = 404, "application/problem+json", b'{"title": "No such survey"}'
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(reply)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        if fault == "half a reply":
            self.close_connection = True
            reply = reply[: len(reply) // 2]
        self.wfile.write(reply)


@contextmanager
def serving(peer: Peer, port: int = 0) -> Iterator[Peer]:
    """The peer on a port of the loopback interface, until this ends."""
    handler = type("Handler", (_Handler,), {"peer": peer})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    peer.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield peer
    finally:
        peer.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
