"""A folder of reports, as Parquet files of a bounded size: there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Final

from hubbub.errors import ParameterError
from hubbub.files.report_file import SUFFIX, ReportWriter
from hubbub.model.mechanism import Reports
from hubbub.model.survey import Survey

ROWS_PER_FILE: Final = 1 << 25


def write_reports(
    folder: str | os.PathLike[str], survey: Survey, parts: Iterable[Reports], *, rows_per_file: int = ROWS_PER_FILE
) -> list[int]:
    """Write reports to a survey into a new folder, as part-00000.parquet and so on.

    Memory holds one row group. The folder has its name only when everything is in it.

    Parameters
    ----------
    folder : path
        A folder that is not there yet, or is empty.
    survey : Survey
        What the reports answer.
    parts : iterable of arrays
        The reports.
    rows_per_file : int
        A new file is begun after the part with which a file has at least this many reports.

    Returns
    -------
    list of int
        The reports in each file.
    """
    target = os.path.abspath(folder)
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise ParameterError(f"the output must be a new folder, got {os.fspath(folder)!r}, which is there")
    partial = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{secrets.token_hex(4)}")
    rows: list[int] = []
    try:
        os.mkdir(partial)
        with ExitStack() as stack:
            writer = None
            for reports in parts:
                if writer is None or writer.rows >= rows_per_file:
                    stack.close()
                    path = os.path.join(partial, f"part-{len(rows):05d}{SUFFIX}")
                    writer = stack.enter_context(ReportWriter(path, survey))
                    rows.append(0)
                writer.write(reports)
                rows[-1] = writer.rows
        os.replace(partial, target)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ParameterError(
            f"the output must be a folder that can be written, got {os.fspath(folder)!r} ({reason})"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return rows
