"""The report of `hubbub paper`, written from the numbers: what the paper claims, what was measured, and the figures.

Sections are plain text and tables, so that the same ones become Markdown and a web page of one file.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hubbub.paper.run import Run
from hubbub.paper.sections import SECTIONS, Section, Table
from hubbub.paper.study import Measured


@dataclass(frozen=True)
class Report:
    """The content of the report."""

    run: Run
    sections: list[Section]

    @property
    def opening(self) -> tuple[str, ...]:
        """The opening paragraphs: what the report is, and its limits."""
        size = (
            "This is the quick version: few runs, coarse grids. Run it without --quick before you quote a number."
            if self.run.quick
            else "This is the full version."
        )
        return (
            "Hsu, Khanna and Roth, Distributed Private Heavy Hitters (ICALP 2012, arXiv 1202.4910), run as an "
            "experiment. Numbers were measured in this run, unless the text says that they are computed, with the "
            "mechanisms that hubbub ships, on simulated crowds. The tally of a crowd is drawn from its law, so that a "
            "billion people cost no more than a thousand. People whose value nobody else holds are pooled as fair "
            "coins, which is exact for each row of a sketch and approximate for all together. The row counts of tree "
            "are drawn bucket by bucket, which is exact for each bucket and for pairs.",
            f"{size} ε = 1, and δ = 10⁻⁶ for Laplace noise. Three calibrations are compared: the paper's "
            "noise, the least noise that the exact composition of privacy losses allows (tight), and one randomised "
            "bit per person (one bit, δ = 0).",
        )

    @property
    def facts(self) -> Table:
        """Seed, time and versions."""
        rows = [
            ("seed", str(self.run.seed)),
            ("time", f"{self.run.seconds:.0f} s, with {self.run.cpu_seconds:.0f} s of processor time"),
            ("processes", str(self.run.jobs)),
            *((name, text) for name, text in self.run.versions.items()),
        ]
        again = f"hubbub paper{' --quick' if self.run.quick else ''} --seed {self.run.seed}"
        return Table(("", ""), [*rows, ("again", again)])


def write_report(measured: Sequence[Measured[Any, Any]], run: Run, folder: Path) -> list[str]:
    """Write report.html and report.md next to the figures in the directory; return the names of the files."""
    report = Report(run, [SECTIONS[each.figure](each) for each in measured])
    (folder / "report.html").write_text(_to_html(report, folder), encoding="utf-8")
    (folder / "report.md").write_text(_to_markdown(report), encoding="utf-8")
    return ["report.html", "report.md"]


# Markdown and HTML.


def _to_markdown(report: Report) -> str:
    """The report as Markdown, which links to the figure files."""
    parts = [f"# {_TITLE}", *report.opening]
    for section in report.sections:
        parts += [f"## {section.title}", *section.paragraphs, f"![{section.title}]({section.figure}.svg)"]
        parts += [_markdown_table(section.table), f"Numbers: [{section.figure}.json]({section.figure}.json)"]
    return "\n\n".join([*parts, "## This run", _markdown_table(report.facts)]) + "\n"


def _markdown_table(table: Table) -> str:
    """A table as Markdown."""
    lines = [table.headings, tuple("---" for _ in table.headings), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _to_html(report: Report, folder: Path) -> str:
    """The report as one web page with embedded figures."""
    body = [f"<h1>{_TITLE}</h1>", *map(_paragraph, report.opening)]
    for section in report.sections:
        picture = base64.b64encode((folder / f"{section.figure}.svg").read_bytes()).decode("ascii")
        body += [f"<h2>{html.escape(section.title)}</h2>", *map(_paragraph, section.paragraphs)]
        body.append(f'<img alt="{html.escape(section.title)}" src="data:image/svg+xml;base64,{picture}">')
        body.append(_html_table(section.table))
    body += ["<h2>This run</h2>", _html_table(report.facts)]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_TITLE}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_CSS}</style></head>\n<body>\n' + "\n".join(
        [*body, "</body></html>", ""]
    )


def _paragraph(text: str) -> str:
    """A paragraph as HTML."""
    return f"<p>{html.escape(text)}</p>"


def _html_table(table: Table) -> str:
    """A table as HTML, with a head if it has headings."""

    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = line(table.headings, "th") if any(table.headings) else ""
    return "<table>" + head + "\n".join(line(row, "td") for row in table.rows) + "</table>"


_TITLE: Final = "Distributed private heavy hitters, measured"
_CSS: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "img{width:100%;height:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.9rem;margin:1rem 0}"
    "th,td{border-bottom:1px solid #ddd;padding:.25rem .8rem .25rem 0;text-align:left;vertical-align:top}"
    "h2{margin-top:2.5rem}"
)
