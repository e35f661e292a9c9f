"""The command line. This module holds only what must run before slow imports."""

from __future__ import annotations

import sys


def run() -> None:
    """The console script: quiet on Ctrl-C even while loading, tidy when terminated, and fit for any terminal."""
    try:
        import signal

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
