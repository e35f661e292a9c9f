"""A Spark session for the command line."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from hubbub.errors import HubbubError, MissingExtra, ParameterError

_CONNECT_PORT: Final = 15002
_SECONDS: Final = 10.0


@contextmanager
def open_session(master: str) -> Iterator[SparkSession]:
    """A new session, which is stopped at the end; or the session of this process, if it has one, which is not stopped.

    `master` is Spark's name of it: local[4], spark://HOST:7077, yarn, k8s://…, or sc://HOST for Spark Connect. Other
    settings are those of the machine (`spark-defaults.conf`, `SPARK_CONF_DIR`).
    """
    if (active := SparkSession.getActiveSession()) is not None:
        with _told():
            yield active
        return
    if master.startswith("sc://"):
        _reach(master)
        builder = SparkSession.builder.remote(master)
    else:
        if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
            raise MissingExtra("Spark needs Java 17 or newer, got none: install it, or set JAVA_HOME")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # a local master runs its tasks with this Python
        builder = SparkSession.builder.master(master).config("spark.ui.showConsoleProgress", "false")
    try:
        session = builder.appName("hubbub").getOrCreate()
    except Exception as error:  # messages of Spark and Java are long; the first line is enough
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ParameterError(f"spark must be a master that can be reached, got {master!r} ({reason})") from None
    try:
        with _told():
            yield session
    finally:
        session.stop()


def _reach(master: str) -> None:
    """Check that a server listens there: Spark itself would try for ten minutes."""
    try:
        address = urlsplit(master)
        socket.create_connection((address.hostname or "", address.port or _CONNECT_PORT), _SECONDS).close()
    except (OSError, ValueError) as error:
        raise ParameterError(f"spark must be a master that can be reached, got {master!r} ({error})") from None


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error of a task into one sentence."""
    try:
        yield
    except HubbubError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise HubbubError(f"the job failed on Spark: {(lines or ['no reason given'])[0]}"[:300]) from None
