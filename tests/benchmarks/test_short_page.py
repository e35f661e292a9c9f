"""Pages of measurements: long tables are shown in part, and whole in the JSON file beside the page."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.short_page import MOST_ROWS, SHOWN_ROWS, measured_at, rows_of, write_section

PAGES = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def full(rows: int) -> str:
    """A page with one table below two headings."""
    table = "".join(f"| a{row} | {row} |\n" for row in range(rows))
    return f"# Title\n\nWords.\n\n## Part\n\n### Piece\n\n| name | value |\n| --- | ---: |\n{table}"


def test_a_long_table_is_shown_in_part(tmp_path: Path) -> None:
    """The page has the first, the last and some rows between; the file has all, under their headings."""
    page = tmp_path / "page.md"
    write_section(page, "Title", full(40), "some", "abc")
    text = page.read_text("utf-8")
    assert text.count("\n| a") == SHOWN_ROWS
    assert "| a0 | 0 |" in text
    assert "| a39 | 39 |" in text
    assert f"These are {SHOWN_ROWS} of 40 rows; all are in [some.json](data/some.json)." in text
    assert rows_of(page, "some", "Part / Piece") == [[f"a{row}", str(row)] for row in range(40)]


def test_a_section_is_replaced_alone(tmp_path: Path) -> None:
    """Other sections stay as they are, and a short table is shown whole, with the commit that is checked out."""
    page = tmp_path / "page.md"
    write_section(page, "First", full(MOST_ROWS), "one", "abc")
    write_section(page, "Second", full(3), "two", "def")
    before = page.read_text("utf-8").partition("## Second")[2]
    write_section(page, "First", full(2), "one")
    text = page.read_text("utf-8")
    assert text.partition("## Second")[2] == before
    assert text.count("\n| a") == 5
    assert f"Measured at commit `{measured_at()}`." in text


def test_files_and_page_agree() -> None:
    """Each file of docs/data is named on the page with its commit, and what the page shows is in it."""
    text = PAGES.read_text("utf-8")
    for file in sorted((PAGES.parent / "data").glob("*.json")):
        kept = json.loads(file.read_text("utf-8"))
        section = next(part for part in text.split("\n## ") if f"[{file.name}]" in part)
        assert f"Measured at commit `{kept['commit']}`." in section
        rows = {" | ".join(row) for table in kept["tables"] for row in (table["columns"], *table["rows"])}
        shown = [line.strip("| ") for line in section.splitlines() if line.startswith("| ") and "---" not in line]
        assert set(shown) <= rows
