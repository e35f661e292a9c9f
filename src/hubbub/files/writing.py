"""Writes a directory of reports, as Parquet files of a bounded size: complete or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Final

from hubbub.errors import ParameterError, system_reason
from hubbub.files.listing import SUFFIX
from hubbub.files.report_file import ReportWriter
from hubbub.model.mechanism import Reports
from hubbub.model.survey import Survey

ROWS_PER_FILE: Final = 1 << 25


def write_reports(
    folder: str | os.PathLike[str], survey: Survey, parts: Iterable[Reports], *, rows_per_file: int = ROWS_PER_FILE
) -> list[int]:
    """Write the reports of a survey into a new directory, as part-00000.parquet and so on; return the rows of each.

    Takes the memory of one row group. The directory must not exist yet, or be empty; it gets its name only when it is
    complete. A new file is begun as soon as a file has at least `rows_per_file` reports.
    """
    target = os.path.abspath(folder)
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise ParameterError(f"the output must be a new directory, got {os.fspath(folder)!r}, which exists")
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
        raise ParameterError(f"cannot write to the directory {os.fspath(folder)!r}: {system_reason(error)}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return rows
