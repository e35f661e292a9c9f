"""The command line. This module holds only what must run before slow imports."""

from __future__ import annotations

import sys
from typing import Any


def run() -> None:
    """The console script: quiet on Ctrl-C even while loading, tidy when terminated, and fit for any terminal."""
    try:
        import os
        import signal

        # Products of matrices are small here: several threads would spend more time waiting than it takes in one.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.unraisablehook = _interrupt_again
        for name in ("SIGTERM", "SIGHUP"):  # however politely a job is ended, its temporary files are removed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        if sys.stdout is None:
            if sys.stderr is not None:
                sys.stderr.write("hubbub: standard output must be open, got a closed one.\n")
            sys.exit(2)
        from hubbub.cli.main import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # An interruption that passes through exec() of a text, which dataclasses and numba use, leaves a mark in
        # CPython: `python -m` then dies of the signal, whatever exit code was asked for. The next exec() removes it.
        exec("")  # noqa: S102


def _interrupt_again(ignored: Any) -> None:
    """Send Ctrl-C once more where it was swallowed: in Python code that a C library calls, as compilers do."""
    if ignored.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(ignored)
        return
    import os
    import signal
    import threading
    from contextlib import suppress

    with suppress(RuntimeError):  # the interpreter is about to end, and starts no threads any more
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()
