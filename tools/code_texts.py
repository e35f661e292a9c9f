"""Texts for tools/fit_codes.py: names, titles, addresses, URLs and identifiers, out of downloaded packages."""

from __future__ import annotations

import ast
import csv
import itertools
import json
import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from code_words import annotations, catalogue, messages

# Languages of names and key words beside those whose words have a code of their own.
MORE_LATIN = ["cs", "da", "fi", "hu", "id", "no", "ro", "vi"]
OTHER_SCRIPTS = ["ar", "bn", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh"]

# Locales of Faker for names of people.
LATIN_LOCALES = ["cs_CZ", "da_DK", "de_DE", "en", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_FR", "hu_HU"]
LATIN_LOCALES += ["id_ID", "it_IT", "nl_NL", "no_NO", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "sv_SE", "tr_TR", "vi_VN"]
OTHER_LOCALES = ["ar_AA", "el_GR", "fa_IR", "he_IL", "hi_IN", "ja_JP", "ko_KR", "ru_RU", "th_TH", "uk_UA", "zh_CN"]

MAIL = ["gmail.com", "gmail.com", "gmail.com", "outlook.com", "hotmail.com", "yahoo.com", "icloud.com", "gmx.de"]
MAIL += [
    "web.de",
    "orange.fr",
    "libero.it",
    "wp.pl",
    "mail.ru",
    "proton.me",
    "aol.com",
    "t-online.de",
    "yahoo.co.uk",
    "live.com",
]


def faker_names(data: Path, provider: str, locale: str, wanted: str) -> list[str]:
    """The strings of the fields of a provider of Faker whose names match; the file is parsed, not run."""
    path = data / f"Faker/faker/providers/{provider}/{locale}/__init__.py"
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))) if path.exists() else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and re.fullmatch(wanted, target.id):
                strings = (leaf.value for leaf in ast.walk(node.value) if isinstance(leaf, ast.Constant))
                names += [text for text in strings if isinstance(text, str)]
    return sorted({name for name in names if "{" not in name and "#" not in name})


def people(data: Path, locales: list[str], count: int) -> list[tuple[str, str]]:
    """First and last names that belong to one locale."""
    rng = random.Random("people")
    pairs: list[tuple[str, str]] = []
    for locale in locales:
        first = faker_names(data, "person", locale, r"first_.*name.*|first_names?")
        last = faker_names(data, "person", locale, r".*last_name.*|last_names?|surnames")
        if first and last:
            pairs += [(rng.choice(first), rng.choice(last)) for _ in range(count // len(locales))]
    return pairs


def full_names(data: Path, locales: list[str]) -> Iterator[str]:
    """Names of people: most in full, some by one half."""
    rng = random.Random("full names")
    for first, last in people(data, locales, 8_000):
        yield rng.choice([f"{first} {last}"] * 5 + [f"{last}, {first}", first, last])


def plain(text: str) -> str:
    """A name as addresses have it: ASCII letters, digits and hyphens."""
    folded = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss").replace("ı", "i").replace("ł", "l"))
    return re.sub(r"[^a-z0-9]+", "-", "".join(char for char in folded if not unicodedata.combining(char))).strip("-")


def mail_addresses(data: Path, hosts: list[str]) -> Iterator[str]:
    """Addresses of people and of offices, at large providers and at hosts."""
    rng = random.Random("mail")
    offices = ["info", "contact", "sales", "support", "office", "hello", "admin", "kontakt", "service", "news", "team"]
    for first, last in people(data, LATIN_LOCALES, 8_000):
        one, two, year = plain(first), plain(last), rng.choice([str(rng.randint(1, 99)), str(rng.randint(1950, 2012))])
        forms = [f"{one}.{two}"] * 4 + [f"{one[:1]}.{two}", f"{one[:1]}{two}", f"{one}{two}", f"{one}_{two}", one, two]
        forms += [f"{one}.{two}{year}", f"{one}{year}", f"{two}.{one}", rng.choice(offices)]
        yield f"{rng.choice(forms)}@{rng.choice(MAIL) if rng.random() < 0.5 else rng.choice(hosts)}"


def real_urls(data: Path) -> Iterator[str]:
    """URLs of home pages, repositories and documentation, as they are written."""
    for icon in json.loads((data / "simple-icons/package/data/simple-icons.json").read_text("utf-8")):
        yield icon["source"]
        yield icon.get("guidelines", "")
    for provider in json.loads((data / "oembed-providers/package/providers.json").read_text("utf-8")):
        yield from (endpoint["url"] for endpoint in provider["endpoints"])
        for endpoint in provider["endpoints"]:
            yield from (scheme.replace("*", "a1") for scheme in endpoint.get("schemes", ()))
    with (data / "debian/available").open(encoding="utf-8") as file:
        pages = sorted({line.split()[1] for line in file if line.startswith("Homepage: ")})
    yield from pages[::2]
    with (data / "all-the-package-repos/package/data/packages.json").open(encoding="utf-8") as file:
        some = (re.search(r': "(http.*)"', line) for line in itertools.islice(file, 0, None, 700))
        yield from (match[1] for match in some if match)
    pages = re.findall(r'"mdn_url":"([^"]+)"', (data / "browser-compat-data/package/data.json").read_text("utf-8"))
    yield from sorted(set(pages))[::8]
    with (data / "universities/package/world-universities.csv").open(encoding="utf-8", newline="") as file:
        yield from (row[2] for row in itertools.islice(csv.reader(file), 0, None, 5))


def made_urls(hosts: list[str], words: list[str]) -> Iterator[str]:
    """URLs of shops, news and forums."""
    rng = random.Random("urls")
    for _ in range(6_000):
        one, two, three = (plain(rng.choice(words)) for _ in range(3))
        digits, day = str(rng.randrange(10 ** rng.randint(1, 8))), f"{rng.randint(2005, 2026)}/{rng.randint(1, 12):02}"
        paths = [f"{one}", f"{one}/", f"{one}/{two}", f"{one}/{two}-{three}", f"{one}/{two}/{digits}", f"p/{digits}"]
        paths += [f"{one}-{two}-{digits}.html", f"{day}/{one}-{two}", f"{one}.php?id={digits}", f"search?q={one}+{two}"]
        paths += [f"{one}?{two}={digits}&page={rng.randint(1, 20)}", f"watch?v={token(rng, 11)}", f"#{one}", ""]
        paths += [f"{rng.choice(['de', 'fr', 'es', 'it', 'pl', 'nl'])}/{one}/{two}", f"en/{one}", "index.html"]
        paths += [f"img/{one}_{digits}.jpg"]
        www = rng.choice(["", "www."])
        yield f"{rng.choice(['https://', 'https://', 'https://', 'http://'])}{www}{rng.choice(hosts)}/{rng.choice(paths)}"


def numbered_hosts(hosts: list[str], words: list[str]) -> Iterator[str]:
    """Hosts as fleets of machines and campaigns have them."""
    rng = random.Random("numbered hosts")
    roles = ["node", "web", "mail", "cdn", "img", "static", "news", "shop", "api", "app", "m", "vpn", "srv", "blog"]
    ends = [".com", ".com", ".net", ".org", ".de", ".fr", ".it", ".nl", ".pl", ".com.tr", ".se", ".es", ".example"]
    for _ in range(6_000):
        one, two = (plain(rng.choice(words)) for _ in range(2))
        role, number, host, end = rng.choice(roles), rng.randint(0, 199), rng.choice(hosts), rng.choice(ends)
        forms = [f"{role}{number}.{host}", f"{role}-{number}.{host}", f"{role}.{host}", f"{one}{number}{end}"]
        forms += [f"{one}-{two}{end}", f"{one}-{two}-{number}{end}", f"{role}{number}{end}", f"{one}{two}{end}"]
        forms += [f"{rng.randint(1, 223)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}"]
        yield rng.choice(forms)


def wide_hosts(words: list[str]) -> Iterator[str]:
    """Hosts with letters beyond ASCII, as people write them."""
    rng = random.Random("wide hosts")
    wide = [word for word in words if not word.isascii() and "'" not in word]
    for _ in range(3_000):
        one, two, end = rng.choice(wide), rng.choice(words), rng.choice([".de", ".com", ".fr", ".pl", ".com.tr", ".se"])
        yield rng.choice([f"{one}{end}", f"{one}-{two}{end}", f"{two}{one}{end}"]).replace("'", "")


def token(rng: random.Random, size: int, alphabet: str = "abcdefghijklmnopqrstuvwxyz0123456789") -> str:
    """Characters by chance."""
    return "".join(rng.choices(alphabet, k=size))


def identifiers(words: list[str]) -> Iterator[str]:
    """What machines and offices name things: words, digits and separators."""
    rng = random.Random("identifiers")
    hexadecimal = "0123456789abcdef"
    for _ in range(8_000):
        one, two = (plain(rng.choice(words)) for _ in range(2))
        year, month, day = rng.randint(1950, 2030), rng.randint(1, 12), rng.randint(1, 28)
        small, number = rng.randint(0, 99), rng.randrange(10 ** rng.randint(3, 9))
        mark = rng.choice("-_.")
        letters = token(rng, rng.randint(1, 3), "abcdefghijklmnopqrstuvwxyz")
        made = [
            f"{one}{mark}{two}{mark}{small:02}{letters[:1]}",
            f"{one}{mark}{two}{mark}{number:06}",
            f"{one}{mark}{small}",
            f"{one}{small}",
            f"{one} {small}",
            f"{one}{mark}{two}",
            f"{one}{mark}{two}{mark}{small:03}",
            f"{one}_{two}_{year}",
            f"{year}-{month:02}-{day:02}",
            f"{year}-{month:02}-{day:02} {small % 24:02}:{number % 60:02}:{year % 60:02}",
            f"{day:02}.{month:02}.{year}",
            f"{month}/{day}/{year}",
            f"{letters}-{year}-{number:05}",
            f"{letters}{number}",
            f"{number}",
            f"{number}-{letters}",
            f"v{small % 20}.{month}.{day}",
            f"10.{month}.{small}.{number % 256}" if small % 2 else f"192.168.{month}.{number % 256}",
            f"+{rng.choice([1, 33, 34, 39, 44, 48, 49, 90])} {number % 900 + 100} {rng.randrange(10**7):07}",
            token(rng, rng.choice([8, 12, 16]), hexadecimal),
            "-".join(token(rng, size, hexadecimal) for size in (8, 4, 4, 4, 12)) if small < 30 else letters,
            f"{one}_{two}.{rng.choice(['pdf', 'jpg', 'png', 'txt', 'csv', 'docx', 'zip', 'py', 'js', 'json'])}",
            f"/{rng.choice(['home', 'usr', 'var/log', 'etc', 'tmp', 'opt'])}/{one}/{two}",
            f"{number / 100:.2f} {rng.choice(['€', '$', '£', 'eur', 'usd'])}",
            f"#{one}",
            f"@{one}{two}{rng.choice(['', str(small)])}",
            f"{one}={number}",
            f"{one}:{two}",
        ]
        yield rng.choice(made)


def package_names(data: Path) -> Iterator[str]:
    """Names of packages, from all over the alphabet."""
    with (data / "all-the-package-names/package/names.json").open(encoding="utf-8") as file:
        some = (re.search('"([^"]+)"', line) for line in itertools.islice(file, 0, None, 500))
        yield from (match[1] for match in some if match)


def titles(data: Path, languages: list[str]) -> Iterator[str]:
    """Messages and signs of a few words; long ones are cut after a word, as titles are."""
    for language in languages:
        texts = itertools.chain(messages(data, language), catalogue(data, language))
        kept = [line for text, _ in texts if " " in (line := clip(text))]
        yield from kept[:: -(-len(kept) // 2_000)] if kept else ()


def clip(text: str, longest: int = 64) -> str:
    """A text on one line, of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest + 1].rpartition(" ")[0].rstrip(" ,;:-")


def key_words(data: Path, languages: list[str]) -> Iterator[str]:
    """Key words of signs and pictures."""
    for language in languages:
        found = sorted({text for text, _ in annotations(data, language)})
        yield from found[:: -(-len(found) // 1_500)]


def places(data: Path, languages: list[str], locales: list[str]) -> Iterator[str]:
    """Names of countries, regions, languages and cities."""
    for language in languages:
        for part in ("territories", "languages"):
            path = data / f"cldr-localenames-full/package/main/{language}/{part}.json"
            display = json.loads(path.read_text("utf-8"))["main"][language]["localeDisplayNames"][part]
            yield from list(display.values())[::2]
    for locale in locales:
        yield from faker_names(data, "address", locale, r"cities|city_names?|towns|states")[:1_000]


def brands(data: Path) -> Iterator[str]:
    """Names of brands."""
    yield from (
        icon["title"] for icon in json.loads((data / "simple-icons/package/data/simple-icons.json").read_text("utf-8"))
    )


def schools(data: Path) -> Iterator[str]:
    """Names of universities."""
    with (data / "universities/package/world-universities.csv").open(encoding="utf-8", newline="") as file:
        yield from (row[1] for row in itertools.islice(csv.reader(file), 0, None, 2))
