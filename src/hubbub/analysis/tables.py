"""An answer as text: lines for people, and CSV for machines."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
import warnings
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Final

from hubbub.analysis.wording import interval, number, people_of, plural, share_of, sure, visible
from hubbub.model.estimates import Hitter, Intake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hubbub.analysis.results import Answer

MOST_ROWS: Final = 50
"""The most rows in a table for people; JSON and CSV have all rows."""

COLUMNS: Final = tuple(field.name for field in fields(Hitter))

_LONGEST: Final = 40  # characters of a value
_COMPARED: Final = 3  # values at the top of a list that get a sentence about which others they are ahead of
_FORMULA: Final = frozenset("=+-@")
_FILLERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and symbols without any ink


def as_text(answer: Answer) -> str:
    """Lines for a terminal: the number of reports, the first rows, and what could have been found."""
    lines = [plural(answer.reports, "report"), *_aligned(answer.hitters[:MOST_ROWS])]
    if len(answer.hitters) > MOST_ROWS:
        lines.append(f"… and {plural(len(answer.hitters) - MOST_ROWS, 'more row')}")
    return "\n".join([*lines, *sentences(answer)])


def sentences(answer: Answer) -> list[str]:
    """The sentences below a table: what could have been found, what a count is, and what was not counted as given."""
    nothing = "" if _stands(answer) else "Nothing stands out. "
    said = about_list(answer) if answer.whole_list else [f"{nothing}{about_limits(answer)}"]
    return [*said, *about_counts(answer), *([] if answer.intake is None else about_intake(answer.intake))]


def about_counts(answer: Answer) -> list[str]:
    """What a reader must know about the rows and their counts. Only what there is to say."""
    said = [about_slots(answer.values_per_person)] if answer.values_per_person > 1 else []
    if answer.foreign_candidates:
        said.append(f"{plural(answer.foreign_candidates, 'candidate')} not in the domain: left out.")
    said += about_left_out(answer)
    if answer.post_processing != "none":
        said.append(about_post_processing(answer.post_processing))
    if uneven := [short(hitter.value) for hitter in answer.hitters if hitter.uneven]:
        said.append(f"Parts of the reports disagree about {', '.join(uneven)}: a shared sum, or forged reports.")
    for hitter in answer.hitters:
        if hitter.rival is not None:
            either = f"{short(hitter.value)} or {short(hitter.rival)}"
            said.append(f"{either}: one of the two, since the few reports that tell them apart disagree.")
    return said


def about_left_out(answer: Answer) -> list[str]:
    """What the rows leave out: values beyond `top`, and values of people who have more of them than slots."""
    said = [about_shown(answer)] if answer.not_shown else []
    if answer.intake is not None and answer.intake.over:
        said.append(about_over(answer.intake.over, answer.values_per_person, answer.reports))
    return said


def warn_of_left_out(answer: Answer, stacklevel: int) -> None:
    """Warn of what rows without sentences do not say, at the line that asked for them."""
    for sentence in about_left_out(answer):
        warnings.warn(sentence, stacklevel=stacklevel)


def about_shown(answer: Answer) -> str:
    """A sentence: how many of the values that stand out have a row, if `top` left some out."""
    standing = sum(hitter.stands_out for hitter in answer.hitters)
    return f"{standing:,} of {standing + answer.not_shown:,} values that stand out are shown."


def about_list(answer: Answer) -> list[str]:
    """The sentences below a whole list: how many values stand out, and which are ahead of which."""
    rows = answer.hitters
    standing = sum(row.stands_out for row in rows)
    held = f"{standing} of {plural(len(rows), 'value')} surely held by somebody"
    said = f"{held}; all intervals hold together, for those who answered."
    ahead = [_about_rank(rows, place) for place in range(min(_COMPARED, len(rows))) if rows[place].ahead_of]
    return [said, *(ahead or ["No value is surely ahead of another."])]


def _about_rank(rows: Sequence[Hitter], place: int) -> str:
    """A sentence: which values the value at this place of a list is surely ahead of."""
    value, behind, below = short(rows[place].value), rows[place].ahead_of or 0, len(rows) - 1 - place
    if behind < below:
        return f"{value} is surely ahead of {behind} of the {len(rows) - 1} others."
    return f"{value} is surely ahead of {short(rows[-1].value) if below == 1 else 'all below it'}."


def about_intake(intake: Intake) -> list[str]:
    """A sentence, if there is something to say: how many given values were missing, cut or replaced."""
    kinds = (
        (intake.missing, "missing or without a person"),
        (intake.cut, "too long, and cut"),
        (intake.other, "not in the domain, and counted as something else"),
    )
    said = [f"{number(many)} {'was' if many == 1 else 'were'} {what}" for many, what in kinds if many]
    return [f"Of the values given, {'; '.join(said)}."] if said else []


def about_over(over: int, slots: int, people: int) -> str:
    """A sentence or two: how many people have more values than slots, and what counts and intervals then are about."""
    have = f"{over:,} of {plural(people, 'person has', 'people have')}"
    if slots == 1:
        return (
            f"{have} several values, of which one, drawn at random, was reported. Counts, shares and intervals are of "
            f"these drawn values: up to {over:,} more people than an interval says may have a value."
        )
    return (
        f"{have} more than {slots} values, of which {slots}, drawn at random, got a slot. Counts, shares and intervals "
        f"are of values in slots: up to {over:,} more people than an interval says may have a value."
    )


def about_limits(answer: Answer, example: str = "") -> str:
    """What could have been found, in a sentence or two; for texts also about long ones, with an example if given."""
    usual, named, long = (
        limit if limit is not None and math.isfinite(limit) else None
        for limit in (answer.detection_limit, answer.candidate_limit, answer.long_limit)
    )
    if usual is None:
        said = "Too few people: nothing could have been found by a search."
        if _stands(answer):  # a value was found all the same, or named
            said = "Too few people: a search finds only a value that nearly everybody holds."
        if named is not None:
            return f"{said} Named values are found from about {number(named)} people on."
        if answer.candidate_limit is not None:
            return f"{said} Nor could a value that was named be seen. More people or a larger epsilon would help."
        return f"{said} More people, a larger epsilon or candidates named in advance would help."
    said = f"Values held by fewer than about {number(usual)} people may go unseen"
    if named is not None:
        said += f", named ones by fewer than about {number(named)}"
    if answer.long_limit is None:
        return f"{said}."
    among = "cannot be found: too few people" if long is None else f"by fewer than about {number(long)}"
    such = f", such as {example}, " if example else " "
    return f"{said}; long ones{such}{among}."


def _stands(answer: Answer) -> bool:
    """Whether anything stands out."""
    return any(hitter.stands_out for hitter in answer.hitters)


def about_slots(slots: int) -> str:
    """A sentence that says what a count is if people have several values."""
    return f"Everybody reported one of {slots} slots; a count is of the people who have the value in any slot."


def about_post_processing(method: str) -> str:
    """A sentence that says how counts were changed after they were estimated."""
    return f"Counts are after {method}: plausible, and no longer unbiased."


def _aligned(hitters: tuple[Hitter, ...]) -> list[str]:
    """The heading and the rows, as aligned lines."""
    if not hitters:
        return []
    rows = [["value", "people", "share", "between", "sure", "fakes"]]
    for hitter in hitters:
        fakes = f"{hitter.fake_reports:,}"
        rows.append([short(hitter.value), people_of(hitter), share_of(hitter), interval(hitter), sure(hitter), fakes])
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(sizes[0]), *(cell.rjust(size) for cell, size in zip(row[1:], sizes[1:], strict=True))])
        for row in rows
    ]


def short(value: object) -> str:
    """A value on one line, without control characters, cut after 40 characters."""
    text = visible(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def as_csv(answer: Answer) -> str:
    """A heading, and a row for each value; lines end with CR LF, as in RFC 4180."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for hitter in answer.hitters:
        row = asdict(hitter)
        writer.writerow([harmless(row[name]) for name in COLUMNS])
    return text.getvalue()


def harmless(value: object) -> object:
    """The value, prefixed with ' if a spreadsheet would take it for a formula.

    Characters that nobody sees are ignored when looking for a formula, since programs may drop them; so is the form of
    its first character, which may be full-width or small. Values come from strangers: one may have been made up to run
    something on the machine where the answer is opened.

    >>> harmless("=HYPERLINK(1)"), harmless("tea"), harmless(-1)
    ("'=HYPERLINK(1)", 'tea', -1)
    """
    if not isinstance(value, str):
        return value
    begins = next((c for c in value if not _is_unseen(c)), "")
    is_formula = unicodedata.normalize("NFKC", begins)[:1] in _FORMULA
    return f"'{value}" if is_formula or value[:1] in ("\t", "\r", "\n") else value


def _is_unseen(character: str) -> bool:
    """Whether a character shows nothing by itself: a space, a control or format character, a mark, a filler."""
    return unicodedata.category(character)[0] in "CMZ" or character in _FILLERS
