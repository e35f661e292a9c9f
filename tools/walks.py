"""Trace the three walks through the library, and write them into docs/data-flow.md.

A walk is every function of `hubbub` that one job passes through, in the order of the first call. Functions of one file
that follow each other share a line. Run it with `make walks` after a change; tests/docs/test_walks.py compares.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import FrameType

import hubbub

PAGE = Path(__file__).parent.parent / "docs/data-flow.md"
BEGIN, END = "<!-- walks: written by tools/walks.py -->", "<!-- end of walks -->"
SOURCE = f"{Path(hubbub.__file__).parent}{os.sep}"
WIDTH = 116
ASIDE = ("Collector._follow_the_clock", "Collector._purge", "Reserve.")  # upkeep that the folding thread does as well
CROWD = ["news.example"] * 1200 + [f"a{number}.example" for number in range(800)]


class Tracer:
    """Notes the functions of `hubbub` that are called while it is on, in all threads that were started under it."""

    def __init__(self) -> None:
        self.on, self.functions = False, dict[tuple[str, str], None]()
        self.aside: dict[int, FrameType] = {}  # by thread: the call of `ASIDE` that it is in
        threading.setprofile(self)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Take one event of the interpreter."""
        code, thread = frame.f_code, threading.get_ident()
        if event == "return" and self.aside.get(thread) is frame:
            del self.aside[thread]
        if event != "call" or not self.on or thread in self.aside or not code.co_filename.startswith(SOURCE):
            return
        # Module and class bodies, comprehensions and nameless functions are part of what surrounds them. Whether keys
        # are compared depends on what else is in a cache.
        name = code.co_qualname.replace("<locals>.", "")
        if name.endswith((".__hash__", ".__eq__")):
            return
        if name.startswith(ASIDE):
            self.aside[thread] = frame
        elif code.co_flags & inspect.CO_NEWLOCALS and code.co_flags & inspect.CO_OPTIMIZED and "<" not in name:
            self.functions.setdefault((code.co_filename[len(SOURCE) :].replace(os.sep, "/"), name))

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Trace what happens inside, in this thread too."""
        self.on = True
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.on = False


def find(tracer: Tracer) -> None:
    """`hubbub.find` on two thousand host names. What is compiled or read once was there before."""
    for traced in (False, True):
        with tracer.walking() if traced else redirect_stdout(StringIO()):
            hubbub.find(CROWD, domain=hubbub.Hostnames(), epsilon=4, seed=1)


@contextmanager
def collector(fold_seconds: float) -> Iterator[tuple[str, str, str]]:
    """A running collector with a survey: its address, the owner's token and the survey's id."""
    from hubbub.collector.serving import serving
    from hubbub.collector.state import Collector
    from hubbub.store.store import Store
    from hubbub.store.tokens import replace_token

    with tempfile.TemporaryDirectory() as folder, Store(str(Path(folder) / "collector.db")) as store:
        survey = hubbub.create_survey("referrers", hubbub.Hostnames(), 4, public_seed=bytes(32))
        store.add_survey(survey)
        token = replace_token(store.engine)
        with serving(Collector(store, None, fold_seconds)) as url:
            yield url, token, survey.survey_id.hex()


def report(tracer: Tracer) -> None:
    """A device's `Client.report`, until its report is in the sums."""
    from hubbub.cli.service import ask, ask_json
    from hubbub.client import Client

    with collector(0.05) as (url, token, survey_id), tempfile.TemporaryDirectory() as folder:
        for traced in (False, True):
            ledger = Path(folder) / f"ledger-{traced}.json"
            with tracer.walking() if traced else redirect_stdout(StringIO()):
                client = Client(f"{url}/v1/surveys/{survey_id}", ledger=ledger)
                client.report("news.example")
                while not ledger.exists() or '"sent"' not in ledger.read_text("utf-8"):
                    time.sleep(0.05)
                time.sleep(1.0)  # the folding thread takes up the report
            client.close()
            if ask_json(url, "/v1/surveys", token)["surveys"][0]["reports"] != 1 + traced:
                raise SystemExit("the report did not arrive")
            if not traced:  # on a busy machine the first fold may take longer, and loads what the next one has
                ask(url, f"/v1/surveys/{survey_id}/tally", token)
                time.sleep(1.0)


def hitters(tracer: Tracer) -> None:
    """The owner's `hubbub hitters` on a survey with two thousand reports."""
    from hubbub.cli.demo import send_reports
    from hubbub.cli.main import app
    from hubbub.cli.service import ask
    from hubbub.mechanisms.registry import load_survey

    with collector(60.0) as (url, token, survey_id):  # the question itself folds what it needs
        survey = load_survey(ask(url, f"/v1/surveys/{survey_id}"))
        send_reports(url, survey, [survey.domain.encode(CROWD)], 1)
        time.sleep(1.0)
        for traced in (False, True):
            walking = tracer.walking() if traced else redirect_stdout(StringIO())
            with redirect_stdout(StringIO()), suppress(SystemExit), walking:
                app(["hitters", "--survey", f"{url}/v1/surveys/{survey_id}", "--token", token])


WALKS: list[tuple[str, str, Callable[[Tracer], None]]] = [
    ("find", "`hubbub.find(values, domain=Hostnames())`: a rehearsal in one process", find),
    ("report", "`Client.report(value)`: from a device to the collector's sums", report),
    ("hitters", "`hubbub hitters SURVEY`: from the collector's sums to a table", hitters),
]


def traced(walk: Callable[[Tracer], None]) -> dict[tuple[str, str], None]:
    """The functions of a walk, in order."""
    tracer = Tracer()
    walk(tracer)
    return tracer.functions


def section() -> str:
    """The three walks as Markdown. Takes about 20 seconds, half of it waiting."""
    lines = [BEGIN, ""]
    for _, title, walk in WALKS:
        functions = traced(walk)
        files = {file for file, _ in functions}
        lines += [f"### {title}", "", f"{len(functions)} functions in {len(files)} files.", "", "```text"]
        lines += [*wrapped(functions), "```", ""]
    return "\n".join([*lines, END])


def wrapped(functions: dict[tuple[str, str], None]) -> Iterator[str]:
    """A line for each run of functions of one file, broken where it is too long."""
    before, line = "", ""
    for file, name in functions:
        if file == before and len(line) + len(name) + 2 <= WIDTH:
            line += f", {name}"
            continue
        if line:
            yield line
        line = f"    {name}" if file == before else f"{file}: {name}"
        before = file
    yield line


def main() -> None:
    """Replace the walks of the page; with the name of a walk, print that one."""
    if len(sys.argv) > 1:
        (walk,) = [walk for name, _, walk in WALKS if name == sys.argv[1]]
        print(*wrapped(traced(walk)), sep="\n")
        return
    text = PAGE.read_text("utf-8")
    head, rest = text.split(BEGIN)
    PAGE.write_text(head + section() + rest.split(END)[1], "utf-8")


if __name__ == "__main__":
    main()
