"""The command line. This module has only the code that must run before slow imports."""

from __future__ import annotations

import sys
from typing import Any


def run() -> None:
    """The console script. Handles Ctrl-C even while loading, removes temporary files, and works on any terminal."""
    try:
        import os
        import signal

        # Matrix products are small here: several threads would spend more time waiting than one takes.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.unraisablehook = _interrupt_again
        for name in ("SIGTERM", "SIGHUP"):  # exit normally, so that temporary files are removed
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
        # An interrupt that passes through exec() of a string, which dataclasses and numba use, leaves a flag in
        # CPython: `python -m` then dies of the signal instead of using the exit code. The next exec() clears it.
        exec("")  # noqa: S102


def _interrupt_again(ignored: Any) -> None:
    """Send Ctrl-C again if it was swallowed, in Python code that was called by a C library such as a compiler."""
    if ignored.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(ignored)
        return
    import os
    import signal
    import threading
    from contextlib import suppress

    with suppress(RuntimeError):  # the interpreter is shutting down, and cannot start threads
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()
