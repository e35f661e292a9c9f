"""Keys of surveys through a relay: stored with the survey, gone without a trace when it ends."""

from __future__ import annotations

import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from hubbub import Integers, ParameterError, Survey, create_survey
from hubbub.sealing.hpke import PrivateKey, make_private
from hubbub.sealing.request import key_hash
from hubbub.store.aging_ids import note_old_ids
from hubbub.store.life_cycle import close_survey, delete_survey, purge
from hubbub.store.restoring import restore
from hubbub.store.schema import reading, surveys
from hubbub.store.sealing_keys import public_half, sealing_key
from hubbub.store.store import Store
from hubbub.store.upkeep import backup


def sealed_survey(private: bytes, crowd: int = 3, **more: object) -> Survey:
    """A survey whose reports are sealed for this key."""
    key = key_hash(PrivateKey(private).public).hex()
    facts = {"closes": datetime.now(UTC) + timedelta(days=30), "through": "relay", "crowd": crowd, "key": key, **more}
    return create_survey("sealed", Integers(8), 4, **facts)


def test_a_key_is_there_until_the_survey_closes_or_is_deleted(database: str) -> None:
    """Both halves can be read while the survey is open, and neither afterwards; another survey's key stays."""
    for end in (close_survey, delete_survey):
        with Store(database) as store:
            private, other = make_private(), make_private()
            stored = store.add_survey(sealed_survey(private), private=private)
            store.add_survey(sealed_survey(other), private=other)
            named = key_hash(PrivateKey(private).public)
            assert public_half(store.engine, named.hex()) == PrivateKey(private).public
            found = sealing_key(store.engine, named)
            assert found is not None
            assert (found.survey_id, found.private.public) == (stored.survey_id, PrivateKey(private).public)
            end(store, stored.survey_id)
            assert public_half(store.engine, named.hex()) is None
            assert sealing_key(store.engine, named) is None
            assert sealing_key(store.engine, key_hash(PrivateKey(other).public)) is not None
            purge(store)


def test_no_byte_of_an_erased_key_is_left_in_the_files(tmp_path: Path) -> None:
    """After the purge of a closed survey, neither the database nor its log has the private half."""
    path = tmp_path / "a.db"
    private = make_private()
    with Store(str(path)) as store:
        stored = store.add_survey(sealed_survey(private), private=private)
        assert any(private in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
        close_survey(store, stored.survey_id)
        purge(store)
        store.guard.remove_erased()
        assert not [file for file in tmp_path.iterdir() if file.is_file() and private in file.read_bytes()]


def test_a_survey_and_its_private_key_come_together(tmp_path: Path) -> None:
    """A survey through a relay is refused without its key or with another; others are refused with one."""
    private, other = make_private(), make_private()
    with Store(str(tmp_path / "a.db")) as store:
        for survey, given in (
            (sealed_survey(private), None),
            (sealed_survey(private), other),
            (create_survey("plain", Integers(8), 4), private),
        ):
            with pytest.raises(ParameterError, match="the private half of its key") as raised:
                store.add_survey(survey, private=given)
            assert (given or b"?").hex() not in str(raised.value)


def test_a_copy_with_keys_is_for_its_owner_only_and_brings_them_back(tmp_path: Path) -> None:
    """`store backup` writes a file of mode 0600, from which the key is restored."""
    private = make_private()
    with Store(str(tmp_path / "a.db")) as store:
        store.add_survey(sealed_survey(private), private=private)
        backup(store, tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    restore(tmp_path / "copy.db", str(tmp_path / "b.db"))
    assert stat.S_IMODE((tmp_path / "b.db").stat().st_mode) == 0o600
    with Store(str(tmp_path / "b.db")) as store:
        assert sealing_key(store.engine, key_hash(PrivateKey(private).public)) is not None


def test_ids_stay_as_long_as_the_survey_is_open(tmp_path: Path) -> None:
    """A relay may hold a report for weeks: its id is known until the survey closes, those of other surveys are not."""
    private = make_private()
    with Store(str(tmp_path / "a.db")) as store:
        stored = store.add_survey(sealed_survey(private), private=private)
        other = store.add_survey(create_survey("plain", Integers(8), 4))
        for day in range(40):  # a clock that goes on by a day between two looks
            note_old_ids(store, int(time.time()) + day * 86_400, True)
        with reading(store.engine) as connection:
            query = select(surveys.c.key).where(surveys.c.ids_due.is_not(None))
            assert connection.scalars(query).all() == [other.key]
    assert stored.key != other.key
