"""A scripted survey that crashes at every call that writes: nothing acknowledged is lost, and nothing counts twice.

    python -m tests.store.every_write            (SQLite)
    python -m tests.store.every_write postgresql

`every_write.c` is loaded before the C library. It counts the calls that write to files and sockets, and at one of them
the process ends: before the call, after half of its bytes, or after it. Or the call fails, as on a full disk or a lost
connection, and the script goes on to its end. Each fault has a process of its own, forked from one that has loaded all.
Another one then opens the store, looks for damage and for what was acknowledged, sends everything again as clients do,
and compares the sums. With PostgreSQL the process is the collector's side; the server goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.collector.own_cell import build, own_cell_survey, some_reports
from tests.databases import emptied, new_postgresql_database, postgresql_server, quick_folder

from hubbub import Tally
from hubbub.errors import HubbubError, UnknownSurvey
from hubbub.store.life_cycle import close_survey, purge
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.reports import Upload, append
from hubbub.store.store import Store
from hubbub.store.upkeep import backup, check

CELLS, EACH, BATCHES = 64, 8, 5
KINDS = {"before": 1, "half": 2, "after": 3, "error": 4}
CRASHED, REFUSED, WRONG = 77, 3, 9
SURVEY = own_cell_survey(CELLS)
MERGED = Tally(SURVEY.survey_id, 3, np.bincount([60, 61, 62], minlength=CELLS).astype(np.int64))
_HERE = Path(__file__).parent


def compiled(folder: Path) -> Path | None:
    """The library that fails calls; None without a C compiler."""
    target = folder / "every_write.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(target), str(_HERE / "every_write.c"), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        return None
    return target


def send(store: Store, batch: int) -> None:
    """Append the reports of a batch, each to a cell of its own."""
    cells = list(range(batch * EACH, (batch + 1) * EACH))
    append(store.engine, [Upload(store.survey(SURVEY.survey_id).key, some_reports(cells, seed=batch))])


def script(database: str, tell: Callable[[str], None], too_early: bool = False) -> None:
    """What a collector does with a survey, from its first day to its last; `tell` acknowledges, a mutant too early."""
    with Store(database, build) as store:
        try:
            stored = store.survey(SURVEY.survey_id)
        except UnknownSurvey:
            stored = store.add_survey(SURVEY)
        tell("survey")
        if not stored.closed:
            for batch in range(BATCHES):
                if too_early:
                    tell(f"batch {batch}")
                send(store, batch)
                tell(f"batch {batch}")
                if batch in (1, 3):
                    store.fold_all()
            send(store, BATCHES - 1)  # again, as after a lost reply
        merge_tally(store, SURVEY.survey_id, "key", hashlib.sha256(b"body").digest(), MERGED)
        tell("merged")
        store.fold_all()
        if store.embedded:
            target = Path(database).with_suffix(".backup")
            with contextlib.suppress(OSError):  # the script's own, not the store's
                target.unlink(missing_ok=True)
            backup(store, target)
            tell("backup")
        close_survey(store, SURVEY.survey_id)
        tell("closed")
        purge(store)


def expected(done: list[str]) -> set[int]:
    """The cells that must be there, after these acknowledgements."""
    batches = [int(each.split()[1]) for each in done if each.startswith("batch")]
    cells = {cell for batch in batches for cell in range(batch * EACH, (batch + 1) * EACH)}
    return cells | ({60, 61, 62} if "merged" in done else set())


def damage(database: str, done: list[str]) -> list[str]:
    """What is wrong with a store after a fault and these acknowledgements, and after everything was sent again."""
    wrong = []
    target = Path(database).with_suffix(".backup")
    if "backup" in done:
        with Store(str(target), build, create=False) as store:
            wrong += [f"backup: {each}" for each in check(store).problems]
    with Store(database, build) as store:
        wrong += check(store).problems
        if done:
            store.fold_all()
            held = set(np.flatnonzero(store.tally(SURVEY.survey_id).cells).tolist())
            if not expected(done) <= held:
                wrong.append(f"lost: {sorted(expected(done) - held)}")
    script(database, lambda _: None)
    with Store(database, build) as store:
        wrong += check(store).problems
        cells = store.tally(SURVEY.survey_id).cells
        everything = expected(["merged", *(f"batch {batch}" for batch in range(BATCHES))])
        if cells.tolist() != [int(cell in everything) for cell in range(CELLS)]:
            wrong.append(f"the sums are {cells.tolist()}")
    return wrong


def in_a_child(work: Callable[[int], None]) -> tuple[int, str]:
    """Fork, run, and return the exit code and what was written to the descriptor that it got."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
            os._exit(WRONG)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def faulted(library: ctypes.CDLL, database: str, number: int, kind: str, too_early: bool) -> tuple[int, list[str], str]:
    """Run the script with one fault: its exit code, what it acknowledged, and what else it said."""

    def work(pipe: int) -> None:
        library.arm(ctypes.c_long(number), KINDS[kind], pipe)
        try:
            script(database, lambda what: os.write(pipe, f"{what}\n".encode()) and None, too_early)
        except HubbubError:
            os._exit(REFUSED)
        finally:
            library.arm(ctypes.c_long(-1), 0, -1) if number else None
        os.write(pipe, f"calls {library.calls()}\n".encode())

    code, said = in_a_child(work)
    lines = said.splitlines()
    done = [line for line in lines if line in ("survey", "merged", "backup", "closed") or line.startswith("batch ")]
    return code, done, "" if code in (0, CRASHED, REFUSED) else said


def run(library: ctypes.CDLL, fresh: Callable[[], str], every: int, too_early: bool) -> dict[str, object]:
    """All faults, or each `every`th; how many calls there are, how the faults ended, and what was wrong."""
    calls = 0

    def count(pipe: int) -> None:
        library.arm(ctypes.c_long(1 << 40), KINDS["before"], pipe)
        script(fresh(), lambda _: None)
        os.write(pipe, str(library.calls()).encode())

    code, said = in_a_child(count)
    if code:
        raise RuntimeError(said)
    calls = int(said)
    ended: dict[str, int] = {}
    wrong: list[str] = []
    faults = [(number, kind) for number in range(1, calls + 1) for kind in KINDS]
    for number, kind in faults[::every]:
        database = fresh()
        code, done, failure = faulted(library, database, number, kind, too_early)
        ended[str(code)] = ended.get(str(code), 0) + 1
        problems = [failure] if failure else []

        def look(pipe: int, database: str = database, done: list[str] = done) -> None:
            os.write(pipe, "\n".join(damage(database, done)).encode())

        problems += [each for each in in_a_child(look)[1].splitlines() if each]
        wrong += [f"{kind} call {number}, after {done}: {each}" for each in problems]
    return {"calls": calls, "faults": len(faults[::every]), "ended": ended, "wrong": wrong}


def main() -> None:
    """Inject the faults, and print what was wrong as JSON; starts itself again with the library loaded first."""
    parser = argparse.ArgumentParser(description="Crash at every write.")
    parser.add_argument("database", nargs="?", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--every", type=int, default=1, help="only each so many faults")
    parser.add_argument("--server", help="the PostgreSQL server; by default one of its own")
    parser.add_argument("--too-early", action="store_true", help="a mutant: acknowledge before anything is stored")
    options = parser.parse_args()
    with quick_folder() as folder:
        if "EVERY_WRITE" not in os.environ:
            library = compiled(folder)
            if library is None:
                sys.exit("there must be a C compiler, cc, got none")
            more = dict(os.environ, LD_PRELOAD=str(library), EVERY_WRITE=str(library))
            command = [sys.executable, "-m", "tests.store.every_write", *sys.argv[1:]]
            if options.database == "postgresql" and options.server is None:
                with postgresql_server() as server:
                    sys.exit(subprocess.run([*command, "--server", server], env=more, check=False).returncode)
            sys.exit(subprocess.run(command, env=more, check=False).returncode)
        library = ctypes.CDLL(os.environ["EVERY_WRITE"])
        library.calls.restype = ctypes.c_long
        if options.database == "postgresql":
            database = in_a_child(
                lambda pipe: os.write(pipe, new_postgresql_database(options.server).encode()) and None
            )[1]

            def fresh() -> str:
                in_a_child(lambda _: emptied(database) and None)
                return database

        else:
            number = iter(range(1 << 30))

            def fresh() -> str:
                for old in folder.glob("store-*"):
                    old.unlink()
                return str(folder / f"store-{next(number)}.db")

        found = run(library, fresh, options.every, options.too_early)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
