"""A site keeps its questions through everything that happens to it, to them and to the store."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from tests.store.earlier import turn_back

from hubbub import Categories, Hostnames, Integers, Survey, create_survey
from hubbub.errors import ParameterError, UnknownSite, UnknownSurvey
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.restoring import restore
from hubbub.store.schema import writing
from hubbub.store.sites import (
    Site,
    add_site,
    ask,
    ask_existing,
    change_site,
    delete_site,
    find_site,
    in_place_of,
    list_sites,
    manifest,
    order_questions,
    remove_question,
    site_asking,
)
from hubbub.store.slices import open_now
from hubbub.store.store import Store
from hubbub.store.upkeep import backup

NO_YES = Categories(("no", "yes"), other=False)


def question(site: Site, **more: object) -> Survey:
    """A small survey with the periods of a site."""
    facts = {"epsilon": 1, "every": site.every, "opens": site.opens} | more
    return create_survey("a question", NO_YES, facts.pop("epsilon"), mechanism="subset", **facts)


def told(store: Store, site: Site) -> dict | None:
    """What browsers read of a site now."""
    found = manifest(store.engine, site.site, datetime.now(UTC))
    return None if found is None else json.loads(found)


def test_a_site_and_its_questions(database: str) -> None:
    """Questions come in the owner's order, once each; those that take no reports are not told to browsers."""
    with Store(database) as store:
        site = add_site(store, " example ", ["https://www.example.org", "https://m.example.org:8443"], people=100)
        assert (site.name, site.own, site.share(), site.share(3)) == ("example", ("example.org",), 100, 33)
        assert told(store, site) is None
        made = [ask(store, site.site, "goal", of, question(site)) for of in ("a", "b", "c")]
        assert made[0].origins == site.origins
        ids = [each.survey_id for each in made]
        found = find_site(store.engine, site.site)
        first = found.questions[0]
        assert (first.of, first.survey_id, first.title) == ("a", ids[0], "Goal: a")
        assert found.share() == 33
        assert told(store, site) == {
            "own": ["example.org"],
            "questions": [{"asks": "goal", "of": of, "survey": i.hex()} for of, i in zip("abc", ids, strict=True)],
            "site": site.site,
            "version": 1,
        }
        order_questions(store, site.site, ids[::-1])
        close_survey(store, ids[1])
        assert [each["of"] for each in told(store, site)["questions"]] == ["c", "a"]
        delete_survey(store, ids[2])
        assert [each.of for each in find_site(store.engine, site.site).questions] == ["b", "a"]
        remove_question(store, site.site, ids[0])
        assert told(store, site) is None
        assert store.survey(ids[0]).state(datetime.now(UTC)) == "open"
        assert delete_site(store, site.site) == (ids[1],)
        assert list_sites(store.engine) == []
        for gone in (find_site, manifest):
            if gone is manifest:
                assert manifest(store.engine, site.site, datetime.now(UTC)) is None
            else:
                with pytest.raises(UnknownSite):
                    find_site(store.engine, site.site)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A question has the periods of its site, and what the script for web pages can answer."""
    with Store(str(tmp_path / "a.db")) as store:
        site = add_site(store, "a")
        for survey, words in (
            (question(site, epsilon="0.5", every=7, opens=open_now(7)), "the periods of its site"),
            (question(site, every=None, opens=None), "the periods of its site"),
            (question(site, opens=f"{datetime.fromisoformat(site.opens) + timedelta(7):%FT%TZ}"), "which begin at"),
            (create_survey("a", Integers(8), 1, every=28, opens=site.opens), "coded text"),
            (create_survey("a", NO_YES, 1, mechanism="tree", every=28, opens=site.opens), "subset"),
        ):
            with pytest.raises(ParameterError, match=words):
                ask(store, site.site, "goal", "a", survey)
        once = add_site(store, "once", every=None)
        with pytest.raises(ParameterError, match="a goal must be asked by a site with periods"):
            ask(store, once.site, "goal", "a", question(once))
        assert find_site(store.engine, site.site).questions == ()
        for number in range(20):
            ask(store, site.site, "goal", f"g{number}", question(site))
        with pytest.raises(ParameterError, match="at most 20 questions, got 21"):
            ask(store, site.site, "goal", "one more", question(site))
        with pytest.raises(ParameterError, match="each of the 20 questions once"):
            order_questions(store, site.site, [])
        other = add_site(store, "b")
        ask(store, other.site, "goal", "a", question(other))
        with pytest.raises(ParameterError, match="'a' twice"):
            ask(store, other.site, "goal", "a", question(other))
        with pytest.raises(UnknownSurvey):
            remove_question(store, other.site, bytes(32))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"name": " "}, "name must have"),
        ({"name": "a" * 101}, "name must have"),
        ({"own": ["a b"]}, "own must be host names"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 4}, "a survey every 28 days"),
        ({"people": 0}, "expected_reports"),
        ({"every": 0}, "every must be"),
        ({"every": 30}, "whole slices"),
    ],
)
def test_a_site_that_cannot_be(tmp_path: Path, facts: dict, words: str) -> None:
    """Each refusal is one sentence, and nothing is stored."""
    with Store(str(tmp_path / "a.db")) as store:
        with pytest.raises(ParameterError, match=words):
            add_site(store, **({"name": "a"} | facts))
        assert list_sites(store.engine) == []


def test_an_existing_survey_becomes_a_question_of_one_site(database: str) -> None:
    """It gets the site's origins, and a change of these changes it."""
    with Store(database) as store:
        site, other = add_site(store, "a", ["https://a.example"]), add_site(store, "b")
        stored = store.add_survey(question(site), ["https://b.example"])
        ask_existing(store, site.site, "goal", "x", stored)
        assert store.survey(stored.survey_id).origins == ("https://a.example",)
        with pytest.raises(ParameterError, match="one site at most"):
            ask_existing(store, other.site, "goal", "x", stored)
        changed = change_site(store, site.site, "c", ["https://c.example"], [])
        assert (changed.name, changed.own) == ("c", ())
        assert store.survey(stored.survey_id).origins == ("https://c.example",)
        weekly = store.add_survey(create_survey("w", Hostnames(), 1))
        with pytest.raises(ParameterError, match="periods"):
            ask_existing(store, site.site, "referrer", "", weekly)
        assert store.survey(weekly.survey_id).origins == ("*",)


def test_asking_again_takes_the_place(database: str) -> None:
    """The next survey is at the place of the last one, which stays as a survey of its own."""
    with Store(database) as store:
        site = add_site(store, "a", every=None)
        old = [ask(store, site.site, "own", of, question(site)) for of in "ab"]
        close_survey(store, old[0].survey_id)
        new = store.add_survey(question(site), also=in_place_of(old[0]))
        assert site_asking(store.engine, new.key).site == site.site
        assert site_asking(store.engine, old[0].key) is None
        assert [each.survey_id for each in find_site(store.engine, site.site).questions] == [
            new.survey_id,
            old[1].survey_id,
        ]
        assert store.survey(old[0].survey_id).closed


def test_copies_have_sites(database: str, tmp_path: Path) -> None:
    """A backup that is restored elsewhere has them, with their questions, and takes new ones."""
    copy = tmp_path / "copy.db"
    with Store(database) as store:
        site = add_site(store, "a")
        ask(store, site.site, "goal", "x", question(site))
        before = list_sites(store.engine)
        backup(store, copy)
    restore(copy, str(tmp_path / "new.db"))
    with Store(str(tmp_path / "new.db")) as store:
        assert list_sites(store.engine) == before
        ask(store, site.site, "goal", "y", question(site))
        assert add_site(store, "b").key > site.key


def test_a_database_without_sites_gets_them(database: str) -> None:
    """A database of the version before keeps its surveys, and they can become questions."""
    with Store(database) as store:
        stored = store.add_survey(create_survey("a", Hostnames(), 1))
        with writing(store.engine) as connection:
            turn_back(connection, 9)
    with Store(database) as store:
        site = add_site(store, "a", every=None)
        ask_existing(store, site.site, "referrer", "", store.survey(stored.survey_id))
        assert told(store, site)["questions"] == [{"asks": "referrer", "survey": stored.survey_id.hex()}]


@pytest.mark.slow
def test_many_owners_at_once_make_20_questions(database: str) -> None:
    """However many add questions at the same time, there are 20 at most, with a place each."""
    with Store(database) as store:
        site = add_site(store, "a", every=None)

        def add(some: range) -> None:
            """Add questions until no more fit."""
            for number in some:
                try:
                    ask(store, site.site, "own", f"g{number}", question(site))
                except ParameterError:
                    return

        threads = [Thread(target=add, args=(range(first, first + 9),)) for first in range(0, 36, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(find_site(store.engine, site.site).questions) == 20
