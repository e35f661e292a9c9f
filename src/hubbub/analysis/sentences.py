"""What is said of an answer: sentences, each of a kind. Whoever shows an answer chooses kinds, and words nothing.

How numbers are written is in `wording`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hubbub.analysis.question import MODES
from hubbub.analysis.wording import number, percent, plural, rounded, short, visible, within
from hubbub.model.domain_base import OTHER
from hubbub.name_lists import is_spam

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Group, Guess, Hitter, Intake

LEFT_OUT: Final = ("shown", "over")
"""Kinds about what the rows leave out."""

COUNTS: Final = ("slots", "spam", "late", "foreign", *LEFT_OUT, "post", "uneven", "rival")
"""Kinds that a reader of the rows must know."""

BELOW: Final = ("limits", "list", "mode", "names", *COUNTS, "groups", "guesses", "intake", "domain", "supposed")
"""The kinds below every table."""

_GUESSED: Final = 20  # guesses, or groups, in a sentence
_COMPARED: Final = 3  # values at the top of a list that get a sentence about which others they are ahead of


class Sentence(NamedTuple):
    """A sentence or two about an answer.

    Attributes
    ----------
    kind : str
        What it is about: "found" how many values stand out, "limits" what could have been found, "list" the values of a
        whole list, "mode" what is missing near a share, "names" lists of names, "spam" hosts known from spam, "late"
        values named after looking, "unseen" named values that do not stand out, "slots" several values of a person,
        "foreign" candidates outside the domain, "shown" values beyond `top`, "over" people with more values than slots,
        "post" post-processing, "uneven" rows that parts of the reports disagree about, "rival" a value that a row may
        be instead, "groups" values counted together, "guesses" the next best values, "intake" values that were not
        counted as given, "domain" a domain that would hold them better, "forged" crafted reports,
        "certified" how many forged reports change nothing, "supposed" what holds if some are forged.
    text : str
        The words.
    """

    kind: str
    text: str


def sentences(answer: Answer, example: str = "", domain: Domain | None = None) -> list[Sentence]:
    """All that can be said of an answer, in the order of reading; only what there is to say.

    Parameters
    ----------
    answer : Answer
        The answer.
    example : str
        A long value of the domain, to name among the limits.
    domain : Domain, optional
        Says more about values that were cut or are not in it.
    """
    said = [("found", _about_found(answer))]
    if answer.whole_list:
        said += [("list", text) for text in _about_list(answer)]
    else:
        said.append(("limits", _about_limits(answer, example)))
    slots, intake = answer.values_per_person, answer.intake
    said.append(("mode", _about_mode(answer)))
    if answer.known_names:
        own = f", and {answer.own_names:,} that stay with the survey" if answer.own_names else ""
        said.append(("names", f"Named ones are the {answer.known_names:,} of a public list that everybody knows{own}."))
    if answer.remembered_names:
        found = plural(answer.remembered_names, "name")
        text = f"{found} found in slices of time before these were checked by name, too; the level is per answer."
        said.append(("names", text))
    if spam := [short(hitter.value) for hitter in answer.hitters if is_spam(hitter.value)]:
        said.append(("spam", f"Known for made-up visits, by a public list of spam referrers: {', '.join(spam)}."))
    if late := [short(hitter.value) for hitter in answer.hitters if hitter.late]:
        text = f"Named after looking: {', '.join(late)}. They must stand out as if nobody had named them."
        said.append(("late", text))
    if unseen := 0 if answer.whole_list else sum(not hitter.stands_out for hitter in answer.hitters):
        said.append(("unseen", f"{plural(unseen, 'named value')} cannot be told from the noise."))
    if slots > 1:
        text = f"Everybody reported one of {slots} slots; a count is of the people who have the value in any slot."
        said.append(("slots", text))
    if answer.foreign_candidates:
        said.append(("foreign", f"{plural(answer.foreign_candidates, 'candidate')} not in the domain: left out."))
    if answer.not_shown:
        standing = len(_standing(answer))
        text = f"{standing:,} of {standing + answer.not_shown:,} values that stand out are shown."
        said.append(("shown", text))
    if intake is not None and intake.over:
        said.append(("over", _about_over(intake.over, slots, answer.reports)))
    if answer.post_processing != "none":
        said.append(("post", f"Counts are after {answer.post_processing}: plausible, and no longer unbiased."))
    if uneven := [short(hitter.value) for hitter in answer.hitters if hitter.uneven]:
        text = f"Parts of the reports disagree about {', '.join(uneven)}: a shared sum, or forged reports."
        said.append(("uneven", text))
    for hitter in answer.hitters:
        if hitter.rival is not None:
            either = f"{short(hitter.value)} or {short(hitter.rival)}"
            said.append(("rival", f"{either}: one of the two, since the few reports that tell them apart disagree."))
    if answer.groups:
        said.append(("groups", _about_groups(answer.groups)))
    if answer.guessed_from is not None:
        said.append(("guesses", _about_guesses(answer.guesses, answer.guessed_from)))
    if intake is not None:
        told = [about_intake(intake)] if domain is None else _about_each(intake, domain, answer)
        said += [("intake", text) for text in told] + [("domain", text) for text in about_domain(intake)]
    if answer.forged:
        said += [("supposed", _about_supposed(answer)), ("supposed", _about_certified(answer))]
    said.append(("forged", _about_forgers(answer)))
    said.append(("certified", _about_certified(answer)))
    return [Sentence(kind, text) for kind, text in said if text]


def told(answer: Answer, kinds: Collection[str] = BELOW, example: str = "", domain: Domain | None = None) -> list[str]:
    """The texts of the sentences of some kinds."""
    return [each.text for each in sentences(answer, example, domain) if each.kind in kinds]


def about_first(shown: int, rows: int, elsewhere: str = "") -> str:
    """That only the first rows are shown, and what has all of them; empty if all are shown."""
    return f"The first {shown:,} of {plural(rows, 'row')}{elsewhere}." if shown < rows else ""


def about_intake(intake: Intake) -> str:
    """How many given values were missing, cut or replaced, in a sentence; empty if none was."""
    kinds = (
        (intake.missing, "missing or without a person"),
        (intake.cut, "too long, and cut"),
        (intake.other, "not in the domain, and counted as something else"),
    )
    said = [f"{number(many)} {'was' if many == 1 else 'were'} {what}" for many, what in kinds if many]
    return f"Of the values given, {'; '.join(said)}." if said else ""


def about_domain(intake: Intake) -> Iterator[str]:
    """Yield a sentence about a domain that would hold the values better, and one about values that none can hold."""
    if intake.better_domain and intake.better_share is not None:
        share = "all" if intake.better_share == 1 else f"about {int(100 * intake.better_share)} %"
        gain = ""
        if intake.better_limit is not None:
            now = intake.value_limit
            instead = "; this domain shows none" if now is None else f" instead of {number(now)}"
            gain = f", and show them from about {number(intake.better_limit)} people on{instead}"
        code = (
            " (a code that hubbub code fit makes from public texts like these)"
            if ":FILE" in intake.better_domain
            else ""
        )
        yield f"--domain {intake.better_domain}{code} would hold {share} of the values{gain}."
    if intake.too_long is not None:
        yield (
            f"About {int(100 * intake.too_long)} % of the values are longer than the 64 bytes that a domain can hold: "
            "let each device report a part of its value, or a name from a list."
        )


def about_level(level: float) -> str:
    """How sure the whole answer is, and about whom."""
    return (
        f"The chance that anything in this answer is wrong, a value or an interval, is at most {100 * level:g} %. It "
        "is about the visitors who answered: what others would have answered, it cannot know."
    )


def _standing(answer: Answer) -> list[Hitter]:
    """The rows that stand out."""
    return [hitter for hitter in answer.hitters if hitter.stands_out]


def _about_found(answer: Answer) -> str:
    """How many values stand out; empty if none does, or if the answer is a whole list."""
    many = len(_standing(answer)) + answer.not_shown
    if answer.whole_list or not _standing(answer):
        return ""
    found = "One value stands out" if many == 1 else f"{many:,} values stand out"
    return f"{found} from the noise that protects each visitor."


def _about_limits(answer: Answer, example: str) -> str:
    """What could have been found; for texts also about long ones, with an example if given."""
    nothing = "" if _standing(answer) else "Nothing stands out. "
    usual, named, long = (
        limit if limit is not None and math.isfinite(limit) else None
        for limit in (answer.detection_limit, answer.candidate_limit, answer.long_limit)
    )
    if usual is None:
        said = f"{nothing}Too few people: nothing could have been found by a search."
        if not nothing:  # a value was found all the same, or named
            said = "Too few people: a search finds only a value that nearly everybody holds."
        if named is not None:
            return f"{said} Named values are found from about {number(named)} people on."
        if answer.candidate_limit is not None:
            return f"{said} Nor could a value that was named be seen. More people or a larger epsilon would help."
        return f"{said} More people, a larger epsilon or candidates named in advance would help."
    said = f"{nothing}Values held by fewer than about {number(usual)} people may go unseen"
    if named is not None:
        said += f", named ones by fewer than about {number(named)}"
    if answer.long_limit is None:
        return f"{said}."
    among = "cannot be found: too few people" if long is None else f"by fewer than about {number(long)}"
    such = f", such as {example}, " if example else " "
    return f"{said}; long ones{such}{among}."


def _about_list(answer: Answer) -> list[str]:
    """How many values of a whole list stand out, and which are ahead of which."""
    rows = answer.hitters
    if answer.share:  # some rows are left out
        return [f"{plural(len(rows), 'value')} of the list; all intervals hold together, for those who answered."]
    standing = len(_standing(answer))
    held = f"{standing} of {plural(len(rows), 'value')} {'is' if standing == 1 else 'are'} surely held by somebody"
    said = f"{held}; all intervals hold together, for those who answered."
    ahead = [_about_rank(rows, place) for place in range(min(_COMPARED, len(rows))) if rows[place].ahead_of]
    return [said, *(ahead or ["No value is surely ahead of another."])]


def _about_rank(rows: Sequence[Hitter], place: int) -> str:
    """Which values the value at this place of a list is surely ahead of."""
    value, behind, below = short(rows[place].value), rows[place].ahead_of or 0, len(rows) - 1 - place
    if behind < below:
        return f"{value} is surely ahead of {behind} of the {len(rows) - 1} others."
    return f"{value} is surely ahead of {short(rows[-1].value) if below == 1 else 'all below it'}."


def _about_guesses(guesses: Sequence[Guess], least: float) -> str:
    """The next best values with their chances, and what these mean."""
    if not guesses:
        return "No other value is worth a guess."
    perhaps = [f"{short(guess.value)}, perhaps: {rounded(100 * guess.chance, 0)} %" for guess in guesses[:_GUESSED]]
    more = f"; and {len(guesses) - _GUESSED:,} more" if len(guesses) > _GUESSED else ""
    return f"Guesses, with the chance that {number(least)} people or more hold them: {'; '.join(perhaps)}{more}."


def _about_groups(groups: Sequence[Group]) -> str:
    """How many people hold any value of each group."""
    said = [
        f"{short(group.name)} ({plural(group.members, 'value')}): {number(within(group))} people, "
        f"between {number(group.low)} and {number(group.high)}"
        for group in groups[:_GUESSED]
    ]
    more = f"; and {len(groups) - _GUESSED:,} more" if len(groups) > _GUESSED else ""
    return f"Counted together: {'; '.join(said)}{more}."


def _about_mode(answer: Answer) -> str:
    """What is surely in the answer, or surely not; empty without a share."""
    if not answer.share:
        return ""
    held = f"{percent(answer.share)} of the people ({number(answer.share * answer.reports)})"
    if answer.mode == MODES[0]:
        return f"All values in this answer are held by at least {held}."
    if answer.whole_list:
        return f"No value that {held} or more hold is missing in this answer; some may be held by fewer."
    named = f"No named value that {held} or more hold is missing in this answer; some may be held by fewer. "
    seen = answer.detection_limit <= answer.share * answer.reports
    rest = "is in it only if the search found it, with a chance of about 95 %" if seen else "may be missing"
    return f"{'' if answer.candidate_limit is None else named}A value that nobody named {rest}."


def _about_over(over: int, slots: int, people: int) -> str:
    """How many people have more values than slots, and what counts and intervals then are about."""
    have = f"{over:,} of {plural(people, 'person has', 'people have')}"
    said, values = f"{have} several values, of which one, drawn at random, was reported.", "these drawn values"
    if slots > 1:
        said = f"{have} more than {slots} values, of which {slots}, drawn at random, got a slot."
        values = "values in slots"
    return (
        f"{said} Counts, shares and intervals are of {values}: up to {over:,} more people than an interval says may "
        "have a value."
    )


def _about_each(intake: Intake, domain: Domain, answer: Answer) -> Iterator[str]:
    """Yield a sentence each about values that were missing, cut or not in the domain."""
    several = answer.values_per_person > 1  # then values are counted: one person may have many of these

    def holders(count: int) -> str:
        """The beginning of a sentence about some people, or about values, if people have several."""
        if several:
            return f"{plural(count, 'value')} {'is' if count == 1 else 'are'}"
        share = percent(count / answer.reports)
        return f"{plural(count, 'person', 'people')} ({share}) {'holds' if count == 1 else 'hold'}"

    if intake.missing:
        then = "they fill no slot" if several else "skipped, and not among the reports"
        yield f"{plural(intake.missing, 'row has', 'rows have')} no value: {then}."
    if intake.cut:
        yield (
            f"{holders(intake.cut)} a text of more than {domain.cut_after} bytes: "
            "it was cut there, and texts with the same beginning count as one."
        )
    if intake.other:
        became = f'"{OTHER}"' if domain.decode(domain.outside) == [OTHER] else "one of them, by a public rule"
        yield f"{holders(intake.other)} a value that is not {domain.member}: it became {became}."


def _about_supposed(answer: Answer) -> str:
    """What the rows say if so many reports are forged, and which of them do not stand."""
    fallen = [short(row.value) for row in _standing(answer) if (row.stands_to or 0) < answer.forged]
    others = plural(answer.reports - answer.forged, "other")
    text = f"Whichever {plural(answer.forged, 'report')} may be forged: intervals hold for the {others}"
    if not fallen:
        return f"{text}{', and all rows stand' if _standing(answer) else ''}."
    more = f", and {len(fallen) - _GUESSED:,} more" if len(fallen) > _GUESSED else ""
    return f"{text}; these rows may not stand: {', '.join(fallen[:_GUESSED])}{more}."


def _about_certified(answer: Answer) -> str:
    """How many forged reports the first place and the first values withstand; empty if that is not known."""
    rows = _standing(answer)
    if not rows or rows[0].first_to is None or rows[0].stands_to is None:
        return ""
    least = min(row.stands_to or 0 for row in rows)
    places = [f"the first {place} values if {row.first_to or 0:,} are" for place, row in enumerate(answer.hitters, 1)]
    said = [f"the first place stays if {answer.hitters[0].first_to or 0:,} are forged", *places[1:_COMPARED]]
    return f"Whichever reports it is: {', '.join(said)}, and all rows that stand out do if {least:,} are."


def _about_forgers(answer: Answer) -> str:
    """How few crafted reports could have made one of the values stand out; empty if none does."""
    if not (standing := _standing(answer)):
        return ""
    last = min(reversed(standing), key=lambda hitter: hitter.fake_reports)
    crafted, value = plural(last.fake_reports, "crafted report"), visible(str(last.value)) or "(empty)"
    return f"Reports are anonymous, so they can be forged: {crafted} could have put {value} where it is."
