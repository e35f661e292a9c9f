"""What an owner's surveys ask of people together, told when she makes one more."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hubbub.cli.common import plural
from hubbub.client import DEFAULT_CAP
from hubbub.model.repeating import cost_words


def what_people_tell(surveys: list[dict[str, Any]], epsilon: Decimal, now: datetime, every: int | None) -> list[str]:
    """Return sentences: the total ε of an owner's surveys, and whether the limits of ledgers will stop answers.

    `surveys` are those of the collector, with `epsilon` and `created`, as `told_at_once` returns them. `epsilon` and
    `every` are those of the newest one.
    """
    sentences = []
    for days, most in ((30, DEFAULT_CAP.month), (365, DEFAULT_CAP.year)):
        since = now - timedelta(days=days)
        recent = [each for each in surveys if each["created"] and datetime.fromisoformat(each["created"]) > since]
        told = sum((Decimal(each["epsilon"]) for each in recent), Decimal(0))
        if most is not None and told > most and len(recent) > 1:
            sentences.append(
                f"answering all {len(recent)} surveys that you made in {days} days costs a person ε = {told:f}; "
                f"ledgers allow {most:f} in {days} days, so those who answered the others will not answer this one"
            )
    if every is not None:
        sentences.append(cost_words(epsilon, every))
    elif not sentences and DEFAULT_CAP.month is not None and 5 * epsilon > DEFAULT_CAP.month:
        weeks = int(DEFAULT_CAP.month / epsilon)
        sentences.append(
            f"asked every week, this adds up to ε = {4 * epsilon:f} in four weeks; ledgers allow {DEFAULT_CAP.month:f} "
            f"in 30 days, so a person answers at most {plural(weeks, 'time')}"
        )
    return sentences


def told_at_once(surveys: list[dict[str, Any]], sites: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the surveys that a person may answer all: of the questions of each site the one with the largest ε."""
    asked = [[one["survey_id"] for one in each["questions"]] for each in sites]
    dearest = {
        max(each["questions"], key=lambda one: Decimal(one["epsilon"]))["survey_id"]
        for each in sites
        if each["questions"]
    }
    left_out = {survey_id for some in asked for survey_id in some} - dearest
    return [each for each in surveys if each["survey_id"] not in left_out]
