"""A section of docs/benchmarks.md from a full page: long tables are shown in part, and are whole in a JSON file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_ROWS, SHOWN_ROWS = 12, 8

Table = dict[str, Any]


def measured_at() -> str:
    """The commit that is checked out, with a plus sign if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()


def parts(full: str) -> Iterator[list[str]]:
    """The lines of a page in groups: each table is one group, and so is each other line."""
    table: list[str] = []
    for line in full.splitlines():
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            yield table
            table = []
        yield [line]
    if table:
        yield table


def shorten(full: str, link: str) -> tuple[str, list[Table]]:
    """The page without its title, one level deeper, with long tables in part; and all tables with their headings."""
    lines: list[str] = []
    tables: list[Table] = []
    headings: dict[int, str] = {}
    for group in parts(full.partition("\n")[2]):
        if heading := re.fullmatch(r"(##+) (.*)", group[0]):
            headings = {depth: name for depth, name in headings.items() if depth < len(heading[1])}
            headings[len(heading[1])] = heading[2]
            lines.append(f"#{group[0]}")
        elif group[0].startswith("|"):
            columns, rows = group[0], group[2:]
            cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in (columns, *rows)]
            tables.append({"section": " / ".join(headings.values()), "columns": cells[0], "rows": cells[1:]})
            if len(rows) > MOST_ROWS:
                picked = [rows[round(k * (len(rows) - 1) / (SHOWN_ROWS - 1))] for k in range(SHOWN_ROWS)]
                group = [*group[:2], *picked, "", f"These are {SHOWN_ROWS} of {len(rows)} rows; all are in {link}."]
            lines += group
        else:
            lines += group
    return "\n".join(lines).strip() + "\n", tables


def as_json(commit: str, tables: list[Table]) -> str:
    """The tables as JSON, a row on each line."""
    written = []
    for table in tables:
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in table["rows"])
        names = (f'"{name}": {json.dumps(table[name], ensure_ascii=False)}' for name in ("section", "columns"))
        written.append(f'{{{", ".join(names)}, "rows": [\n  {rows}]}}')
    return "".join((f'{{"commit": "{commit}", "tables": [\n', ",\n".join(written), "\n]}\n"))


def write_section(page: Path, title: str, full: str, name: str, commit: str | None = None) -> None:
    """Replace the section of a page, or add it; write its tables to data/NAME.json beside the page."""
    commit = commit or measured_at()
    text, tables = shorten(full, f"[{name}.json](data/{name}.json)")
    (page.parent / "data").mkdir(exist_ok=True)
    (page.parent / "data" / f"{name}.json").write_text(as_json(commit, tables), "utf-8")
    section = f"## {title}\n\nMeasured at commit `{commit}`.\n\n{text}"
    old = page.read_text("utf-8") if page.exists() else "# Benchmarks\n"
    found = re.search(rf"^## {title}\n.*?(?=^## |\Z)", old, re.MULTILINE | re.DOTALL)
    before, after = (old[: found.start()], old[found.end() :]) if found else (old.rstrip() + "\n\n", "")
    page.write_text(f"{before}{section}\n{after}".rstrip() + "\n", "utf-8")


def rows_of(page: Path, name: str, section: str) -> list[list[str]]:
    """The rows of a table that was kept beside the page."""
    kept = json.loads((page.parent / "data" / f"{name}.json").read_text("utf-8"))
    return next(table["rows"] for table in kept["tables"] if table["section"] == section)
