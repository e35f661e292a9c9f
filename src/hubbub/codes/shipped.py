"""The text codes that ship with hubbub, one JSON table each in tables/; tools/fit_codes.py made them."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError

LANGUAGES: Final = ("de", "en", "es", "fr", "it", "nl", "pl", "pt", "sv", "tr")
"""Languages whose words have a table of their own; `words` is for all of them."""

CODE_NAMES: Final = ("hostnames", "words", "text", *(f"words-{language}" for language in LANGUAGES))


@functools.cache
def load_code(name: str) -> TextCode:
    """A shipped code: hostnames, words, text, or words-de and its like."""
    if name not in CODE_NAMES:
        raise ParameterError(f"name must be one of {', '.join(CODE_NAMES)}, got name={name!r}")
    return TextCode.from_json((resources.files("hubbub.codes") / "tables" / f"{name}.json").read_text(encoding="utf-8"))
