"""Write the list of time zones in src/hubbub/names again, each with the country that it is in.

    python tools/make_zones.py /usr/share/zoneinfo

Nothing is downloaded here. The folder has `zone.tab`, `iso3166.tab` and `tzdata.zi` of IANA's time zone database, which
is in the public domain. Browsers still use some older names, such as Asia/Calcutta: those are links in the database,
and are in the country of the zone that they lead to. A name that was in the list stays: surveys may have it.
"""

from __future__ import annotations

import sys
from pathlib import Path

OUT = Path(__file__).parent.parent / "src" / "hubbub" / "names" / "zones.txt"
FIRST = "# IANA's time zone database (public domain), by tools/make_zones.py; zones and their countries"
AREAS = {"Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}


def rows(file: Path) -> list[list[str]]:
    """Return the fields of a table's lines, without its comments."""
    lines = file.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def zones(folder: Path) -> dict[str, str]:
    """Return all names of zones with their countries."""
    countries = dict(rows(folder / "iso3166.tab"))
    found = {row[2]: countries[row[0]] for row in rows(folder / "zone.tab")}
    for line in (folder / "tzdata.zi").read_text("utf-8").splitlines():
        kind, *names = line.split(" ")
        if kind == "L" and names[1].partition("/")[0] in AREAS and names[0] in found:
            found.setdefault(names[1], found[names[0]])
    return {"UTC": ""} | found


def main(folder: Path) -> None:
    """Write the file."""
    found = zones(folder)
    if OUT.exists():
        found = {row[0]: (row[1:] or [""])[0] for row in rows(OUT)} | found
    lines = [f"{name}\t{country}".rstrip() for name, country in sorted(found.items())]
    OUT.write_text("\n".join([FIRST, *lines]) + "\n", "utf-8")
    print(f"{len(lines)} zones of {len(set(found.values()))} countries")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
