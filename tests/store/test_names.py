"""Names stay with a survey; those that were fixed before its first report stay fixed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub.analysis.question import SurveyNames
from hubbub.errors import ParameterError, UnknownSurvey
from hubbub.store.life_cycle import delete_survey
from hubbub.store.names import change_names, names_of
from hubbub.store.reports import Upload, append
from hubbub.store.restoring import restore
from hubbub.store.store import Store
from hubbub.store.upkeep import backup


def test_the_first_report_fixes_the_names(database: str) -> None:
    """Before it names are replaced; from then on, folded or not, fixed ones cannot go and new ones are later ones."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(100), names=SurveyNames(("1", "2")))
        assert names_of(store.engine, stored) == (("1", "2"), (), (), ())
        assert change_names(store.engine, stored, [" 2 ", 3, "", "3"]) == ((("2", "3"), (), (), ()), ())
        append(store.engine, [Upload(stored.key, some_reports([7]))])
        for fold in (False, True):
            if fold:
                store.fold_all()
            names, said = change_names(store.engine, stored, ["3", "4"])
            assert names == names_of(store.engine, stored) == (("2", "3"), ("4",), (), ())
            assert said == ("1 more stay, since they were fixed before the first report.",)
        assert change_names(store.engine, stored, [])[0] == (("2", "3"), (), (), ())
        assert store.tally(stored.survey_id).count == 1


def test_the_first_report_fixes_the_groups(database: str) -> None:
    """Before it groups are replaced; from then on, folded or not, other ones are refused."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(100), names=SurveyNames(("9",)))
        assert change_names(store.engine, stored, groups={"a": [1, 2]})[0] == (("9",), (), (), (("a", ("1", "2")),))
        now, said = change_names(store.engine, stored, groups={" low ": [" 1", 2, "2"], "high": [99, "x"]})
        assert now == names_of(store.engine, stored)
        assert (now.fixed, now.groups) == (("9",), (("low", ("1", "2")), ("high", ("99",))))
        assert said == ("1 name cannot be an answer to this survey and was left out: x.",)
        append(store.engine, [Upload(stored.key, some_reports([7]))])
        for fold in (False, True):
            if fold:
                store.fold_all()
            for other in ({}, {"low": [1]}, {"low": [1, 2], "high": [98]}):
                with pytest.raises(ParameterError, match="groups must be fixed before the first report"):
                    change_names(store.engine, stored, ["4"], other)
            assert names_of(store.engine, stored) == now
            change_names(store.engine, stored, groups={"low": [1, 2], "high": ["99"]})  # the same ones
        assert change_names(store.engine, stored, ["4"])[0] == (("9",), ("4",), (), now.groups)


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ({"a": []}, "at least one value of the domain"),
        ({"a": ["x"]}, "at least one value of the domain"),
        ({"": [1]}, "a name of 1 to 100 characters"),
        ({"x" * 101: [1]}, "a name of 1 to 100 characters"),
        ({"a": [1], " a": [2]}, "different names"),
        ({str(k): [1] for k in range(1_001)}, "1 to 1,000"),
        ({"a": range(10_001)}, "10,000 values"),
    ],
)
def test_groups_that_cannot_be_kept(tmp_path: Path, groups: dict[str, list[object]], complaint: str) -> None:
    """They are refused in a sentence, and what there was stays."""
    with Store(str(tmp_path / "a.db"), build) as store:
        kept = SurveyNames(groups=(("a", ("1",)),))
        stored = store.add_survey(own_cell_survey(100), names=kept)
        with pytest.raises(ParameterError, match=complaint):
            change_names(store.engine, stored, groups=groups)
        assert names_of(store.engine, stored) == kept


def test_names_are_few(tmp_path: Path) -> None:
    """A survey has 10,000 at most, those that were fixed among them."""
    with Store(str(tmp_path / "a.db"), build) as store:
        stored = store.add_survey(own_cell_survey(100_000), names=SurveyNames(("99999",)))
        append(store.engine, [Upload(stored.key, some_reports([7]))])
        assert len(change_names(store.engine, stored, range(9_999))[0].later) == 9_999
        for many in (10_000, 10_001):
            with pytest.raises(ParameterError, match="a survey must have at most 10,000 names, got 10,001"):
                change_names(store.engine, stored, range(many))
        assert len(names_of(store.engine, stored).later) == 9_999


def test_copies_have_names_and_deleted_surveys_have_none(database: str, tmp_path: Path) -> None:
    """A restored copy has them; nothing is left of those of a deleted survey."""
    copy, names = tmp_path / "copy.db", SurveyNames(("1", "2"), groups=(("a", ("7", "8")),))
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(100), names=names)
        backup(store, copy)
        delete_survey(store, stored.survey_id)
        assert not any(names_of(store.engine, stored))
        with pytest.raises(UnknownSurvey):
            change_names(store.engine, stored, ["1"])
    restore(copy, str(tmp_path / "new.db"), build)
    with Store(str(tmp_path / "new.db"), build) as store:
        assert names_of(store.engine, store.survey(stored.survey_id)) == names
