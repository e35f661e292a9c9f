"""Write a software bill of materials: hubbub and every installed package that it needs, without a network.

    python tools/sbom.py [--out sbom.json]

The format is CycloneDX 1.6, in JSON. Packages of extras that are installed are in it; those for tests are not.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT, EXTRAS = "hubbub", ("files", "plots", "postgres", "server", "spark")


def needed(root: str = ROOT, extras: tuple[str, ...] = EXTRAS) -> dict[str, tuple[Distribution, list[str]]]:
    """The installed packages by name, each with the names of those that it needs; what is not installed is left out."""
    found: dict[str, tuple[Distribution, list[str]]] = {}
    asked = [(root, extras)]
    seen = set()
    while asked:
        name, wanted = asked.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        uses = found.setdefault(name, (package, []))[1]
        for text in package.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*wanted, "")):
                other = canonicalize_name(requirement.name)
                asked.append((other, tuple(sorted(requirement.extras))))
                if other != name and other not in uses:
                    uses.append(other)
    return found


def licence(package: Distribution) -> str:
    """What a package says of its licence, in one line."""
    metadata = package.metadata
    stated = metadata["License-Expression"] or ""
    listed = [each.rsplit(" :: ", 1)[-1] for each in metadata.get_all("Classifier") or () if each.startswith("License")]
    first_line = (metadata["License"] or "").strip().partition("\n")[0]
    return stated or ", ".join(listed) or first_line or "unknown"


def bill() -> dict[str, Any]:
    """The document; the same for the same installation."""
    found = needed()
    references = {name: f"pkg:pypi/{name}@{package.version}" for name, (package, _) in found.items()}

    def component(name: str) -> dict[str, Any]:
        package = found[name][0]
        return {
            "type": "application" if name == ROOT else "library",
            "bom-ref": references[name],
            "name": name,
            "version": package.version,
            "purl": references[name],
            "licenses": [{"license": {"name": licence(package)}}],
        }

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(ROOT)},
        "components": [component(name) for name in sorted(found) if name != ROOT],
        "dependencies": [
            {"ref": references[name], "dependsOn": sorted(references[use] for use in uses if use in references)}
            for name, (_, uses) in sorted(found.items())
        ],
    }


def main() -> None:
    """Write the bill, or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    text = json.dumps(bill(), indent=1) + "\n"
    if chosen.out is None:
        print(text, end="")
    else:
        chosen.out.write_text(text, encoding="utf-8")
        print(f"{chosen.out}: hubbub and {len(bill()['components'])} packages")


if __name__ == "__main__":
    main()
