"""Where the browser is, and how it is started; a made-up random source that makes a visit repeatable."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import Any

REQUIRED = os.environ.get("HUBBUB_REQUIRE_BROWSER") == "1"
MISSING = "there is no browser: install chromium (Debian: apt-get install chromium) and the dev extra (playwright)"


def find_chromium() -> str | None:
    """The path of chromium, or None if it or what drives it is not there."""
    if importlib.util.find_spec("playwright") is None:
        return None
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


UNMARKED = "--disable-blink-features=AutomationControlled"
"""Without this, `navigator.webdriver` is true, and the script does not count the visits."""


def launch_options(*more: str, marked: bool = False) -> dict[str, Any]:
    """How chromium is started: no sandbox where the tests run as root, no proxy, and no mark of automation."""
    arguments = ["--no-proxy-server", "--disable-background-networking", "--disable-component-update"]
    arguments += [] if marked else [UNMARKED]
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return {"executable_path": find_chromium(), "args": [*arguments, *more, *(["--no-sandbox"] if root else [])]}


SEEDED_CRYPTO = """(() => {
      // In a page of http://v<number>.site.localhost, crypto.getRandomValues is xorshift, seeded by the number.
      let state = Math.imul(Number(location.hostname.slice(1).split(".")[0]) + 1, 2654435761) >>> 0;
      const draw = () => {
        state ^= state << 13; state >>>= 0; state ^= state >>> 17; state ^= state << 5; state >>>= 0;
        return state;
      };
      for (let skip = 0; skip < 16; skip++) draw();
      Crypto.prototype.getRandomValues = (array) => {
        const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
        for (let at = 0; at < bytes.length; at++) bytes[at] = draw() >>> 11;
        return array;
      };
    })();"""
"""For tests that must be exact: every visitor has randomness of her own, and the same each time."""
