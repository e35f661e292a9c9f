"""`hubbub paper`: runs the paper as an experiment."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hubbub.cli.common import print_json, print_table, progress
from hubbub.cli.options import WholeNumber, json_option
from hubbub.errors import ParameterError, system_reason

if TYPE_CHECKING:
    from hubbub.paper.run import AnyMeasured, Run

_RUN = "run.json"
_MADE_BY = "hubbub paper"


@click.command
@click.option("--out", type=Path, default=Path("paper-report"), help="Directory of the report; created if missing.")
@click.option("--quick", is_flag=True, help="Few runs and coarse grids: under a minute.")
@click.option("--only", multiple=True, metavar="FIGURE", help="Only this figure. Repeatable.")
@click.option("--seed", type=WholeNumber(min=0), help="Repeat a report exactly.")
@click.option("--jobs", type=WholeNumber(min=1, max=256), help="Processes. Default: one for each core.")
@json_option
def paper(out: Path, quick: bool, only: tuple[str, ...], seed: int | None, jobs: int | None, as_json: bool) -> None:
    """Run the paper as an experiment and write a report with figures.

    Measures what Hsu, Khanna and Roth prove: the lower bound and the mechanisms that attain it, the error of every
    mechanism against people and universe, the smallest crowd that shows a heavy hitter, and where the Bucket theorem
    applies. The directory gets report.html (one file, to read), report.md, and each figure as PNG, SVG and its numbers
    as JSON. The full run takes a few minutes; nothing is written before it is complete.

    \b
    hubbub paper --quick
    hubbub paper --out report --seed 1
    hubbub paper --only separation --only bucket-success
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.extras import require
    from hubbub.numeric.threads import cores
    from hubbub.paper.run import Run, costs, count_cells, environment, find_studies, run_studies

    require("A report with figures", "matplotlib", "plots")
    studies = find_studies(only or [])
    used_seed = secrets.randbits(32) if seed is None else seed
    processes = cores() if jobs is None else jobs
    started = time.perf_counter()
    with _folder(out) as partial:
        with progress("Measuring", count_cells(studies, quick), "points") as advance:
            measured = run_studies(studies, quick, used_seed, processes, lambda: advance(1))
        files = _draw(measured, partial)
        run = Run(
            _MADE_BY,
            quick,
            used_seed,
            processes,
            environment(),
            figures=costs(measured),
            cpu_seconds=round(sum(each.cpu_seconds for each in measured), 3),
            seconds=round(time.perf_counter() - started, 3),
        )
        run = _write(measured, run, files, partial)
        _move(partial, out, run.files)
    if as_json:
        print_json({"out": str(out), **asdict(run)})
    else:
        _show(out, run)


def _draw(measured: list[AnyMeasured], folder: Path) -> list[str]:
    """Write every figure and its numbers into one directory; return the names of the files."""
    from hubbub.paper.figures import save_figure

    files = []
    with progress("Drawing", len(measured), "figures") as advance:
        for each in measured:
            numbers = json.dumps(each.to_json(), indent=1, allow_nan=False)
            (folder / f"{each.figure}.json").write_text(numbers, encoding="utf-8")
            files += [*save_figure(each, folder), f"{each.figure}.json"]
            advance(1)
    return files


def _write(measured: list[AnyMeasured], run: Run, files: list[str], folder: Path) -> Run:
    """Write the report and run.json next to the figures; return the run with the names of all files."""
    from hubbub.paper.report import write_report

    run = replace(run, files=(_RUN, *files, *write_report(measured, run, folder)))
    (folder / _RUN).write_text(json.dumps(asdict(run), indent=1, allow_nan=False), encoding="utf-8")
    return run


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """A hidden directory inside `out` to write in, which is removed at the end, even after an error."""
    if out.exists() and not out.is_dir():
        raise ParameterError(f"out must be a directory, got a file at {str(out)!r}")
    new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cannot create the directory {str(out)!r}: {system_reason(error)}") from None
    _check_ours(out)
    try:
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=out) as partial:
            yield Path(partial)
    finally:
        if new and not any(out.iterdir()):
            out.rmdir()


def _check_ours(out: Path) -> None:
    """Refuse to write over files that this command did not write."""
    from hubbub.paper.run import STUDIES

    names = [f"{name}.{kind}" for name in STUDIES for kind in ("png", "svg", "json")]
    taken = [name for name in (*names, "report.md", "report.html", _RUN) if (out / name).exists()]
    if taken and not _earlier_files(out):
        raise ParameterError(
            f"out must be a directory without a {taken[0]}, or one that hubbub paper wrote, got out={str(out)!r}"
        )


def _earlier_files(out: Path) -> list[str]:
    """The files of an earlier report in this directory."""
    try:
        run = json.loads((out / _RUN).read_text(encoding="utf-8"))
        files = run["files"] if run["made_by"] == _MADE_BY else []
        return [name for name in files if isinstance(name, str) and Path(name).name == name]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def _move(partial: Path, out: Path, files: Sequence[str]) -> None:
    """Move the files into place, the report last, so that a report never describes figures that are not there."""
    for name in reversed(_earlier_files(out)):
        (out / name).unlink(missing_ok=True)  # the report first; run.json, which marks the directory as ours, last
    for name in files:
        os.replace(partial / name, out / name)


def _show(out: Path, run: Run) -> None:
    """Print a table of the figures and their costs, and the path of the report."""
    rows = [[each.name, str(each.points), f"{each.cpu_seconds:.1f} s"] for each in run.figures]
    columns = [("figure", "left"), ("points", "right"), ("processor time", "right")]
    caption = f"{run.seconds:.0f} s in all, seed {run.seed}. Report: {out / 'report.html'}"
    print_table("The paper, measured", columns, rows, [caption])
