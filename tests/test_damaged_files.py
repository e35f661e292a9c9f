"""Files that were cut or changed are noticed, or say the same: none that hubbub writes gives a wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub import Categories, SeededRandomWords, Survey, Tally, create_survey, mechanism_for
from hubbub.errors import HubbubError
from hubbub.files.report_file import ReportFile, ReportWriter
from hubbub.simulation.rehearsal import rehearse
from hubbub.store.reports import Upload, append
from hubbub.store.store import Store
from hubbub.store.upkeep import backup, check
from hubbub.testing import public_seed
from hubbub.wire.tally_file import read_tally, write_tally

pytestmark = pytest.mark.slow

CELLS = 50
SURVEY = create_survey("damaged", Categories(list("abcd")), 2, None, "subset", {}, 500, public_seed=public_seed(6))


class Kind(NamedTuple):
    """How a kind of file is written, and what its reader makes of it; the reader raises HubbubError if it notices."""

    write: Callable[[Path], None]
    read: Callable[[Path], object]


def write_store(path: Path, copied: bool = False) -> None:
    """A store with a survey, its tally, ids and pending reports; or a backup of it."""
    original = path.with_suffix(".original") if copied else path
    with Store(str(original), build) as store:
        stored = store.add_survey(own_cell_survey(CELLS))
        append(store.engine, [Upload(stored.key, some_reports(list(range(30))))])
        store.fold_all()
        append(store.engine, [Upload(stored.key, some_reports([40, 41], seed=2))])
        if copied:
            backup(store, path)


def read_store(path: Path) -> object:
    """The sums of a store in which a check finds nothing."""
    with Store(str(path), build, create=False) as store:
        if problems := check(store).problems:
            raise HubbubError(problems[0])
        return store.tally(own_cell_survey(CELLS).survey_id).cells.tolist()


def write_reports(path: Path) -> None:
    """A file of reports."""
    mechanism = mechanism_for(SURVEY)
    words = SeededRandomWords(2).draw(400, mechanism.random_words_per_report)
    with ReportWriter(str(path), SURVEY) as writer:
        writer.write(mechanism.randomize(np.zeros((400, 1), np.uint64), words))


def read_reports(path: Path) -> object:
    """All records of a file of reports."""
    size = mechanism_for(SURVEY).report_dtype.itemsize
    with ReportFile(str(path), SURVEY.survey_id, size) as file:
        groups = [part for group in range(len(file.groups)) for part in file.read(group)]
    return [(records.tobytes(), wrong) for records, wrong in groups]


def tally() -> Tally:
    """Sums of a crowd."""
    return rehearse(mechanism_for(SURVEY), [np.zeros((300, 1), np.uint64)], SeededRandomWords(1))


KINDS = {
    "survey": Kind(
        lambda path: path.write_bytes(SURVEY.to_json()) and None, lambda path: read_document(path.read_bytes())
    ),
    "tally": Kind(lambda path: write_tally(path, tally()), lambda path: read_tally(path, SURVEY).cells.tolist()),
    "reports": Kind(write_reports, read_reports),
    "store": Kind(write_store, read_store),
    "backup": Kind(lambda path: write_store(path, copied=True), read_store),
}


def read_document(document: bytes) -> object:
    """The survey of a document, if it is the one that was written; a survey is named by its hash."""
    survey = Survey.from_json(document)
    if survey.survey_id != SURVEY.survey_id:
        raise HubbubError("another survey")
    return survey.to_json()


@pytest.mark.parametrize("name", KINDS)
def test_damage_is_noticed_or_harmless(name: str, tmp_path: Path) -> None:
    """Cut anywhere, with a changed bit, or with a part of zeros: an error of hubbub, or the same content."""
    write, read = KINDS[name]
    path = tmp_path / "whole"
    write(path)
    whole, content = path.read_bytes(), read(path)
    rng = np.random.default_rng(7)
    damaged = [whole[: int(cut)] for cut in [0, 1, *rng.integers(0, len(whole), 12), len(whole) - 1]]
    for place in rng.integers(0, len(whole), 40):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    for place in rng.integers(0, len(whole), 6):  # a part that was never written
        zeros = bytes(min(512, len(whole) - place))
        damaged += [whole[:place] + zeros + whole[place + 512 :]]
    noticed = 0
    for number, changed in enumerate(damaged):
        one = tmp_path / f"damaged-{number}"
        one.write_bytes(changed)
        try:
            found = read(one)
        except HubbubError:
            noticed += 1
        else:
            assert found == content or changed == whole
    assert noticed >= (15 if name in ("store", "backup") else 50)  # most of a store's pages are empty
