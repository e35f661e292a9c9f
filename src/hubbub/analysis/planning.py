"""Planning a survey: any two of people, ε and the smallest share to be found give the third."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, Final

from hubbub.analysis.outlook import LADDER, MOST_EPSILON, Outlook, ways_to_see
from hubbub.analysis.person import Belief, Year, about_one_person, beliefs, years
from hubbub.analysis.plan_words import about_gain, about_length, about_limits, about_names, about_share, about_slots
from hubbub.analysis.shuffle import ASSUMPTION, WHY_IDS, Outside, seen_from_outside
from hubbub.analysis.trend_power import gain_needed
from hubbub.analysis.wording import one_in, round_up, size_words, time_words
from hubbub.errors import ParameterError, shown
from hubbub.model.coded_domain import Text
from hubbub.model.domain import Domain
from hubbub.model.numbers import parse_decimal, parse_epsilon, parse_people
from hubbub.model.repeating import YEAR, check_budget, check_days, cost_words, times_in
from hubbub.name_lists import names

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
"""For these ε, and for the chosen one, a plan shows the smallest share that is found."""

NAMED: Final = 1_000
"""If no candidates are planned, a plan says what this many candidates would do."""

_POINTS = 24  # points of a curve, per smallest share on the axis


@dataclass(frozen=True, slots=True)
class ShareRow:
    """What to expect of a value that a given share of the people hold.

    Attributes
    ----------
    share : float
        The share of the people who hold it.
    held : float
        The number of people who hold it.
    chance : float
        The chance that it is in the answer; for a list, that it stands out.
    stderr : float
        The standard error of its count, in people.
    """

    share: float
    held: float
    chance: float
    stderr: float


@dataclass(frozen=True, slots=True)
class Limit:
    """The smallest share that is found at an ε, with and without candidates; None if no share is enough."""

    epsilon: float
    share: float | None
    candidate_share: float | None


@dataclass(frozen=True)
class Plan:
    """What a survey of this many people, with this ε, would find.

    Attributes
    ----------
    domain : Domain
        The values that can be held.
    people, epsilon, share : number or None
        The two that were given, and the third, which is None if no number is enough.
    solved : str or None
        Which of the three was computed; None if all were given.
    candidates : int
        The number of values named in advance, 0 for none. If there are some, `share` and `rows` are about them.
    wanted : float
        The chance with which the share should be found.
    chance : float or None
        The chance with which it is found.
    level : float
        The chance, at most, that anything in the answer is wrong.
    mechanism : str
        The mechanism that `create_survey` chooses.
    rows : tuple of ShareRow
        From shares that are hardly ever found to shares that nearly always are.
    limits : tuple of Limit
        The smallest share for a few ε.
    named_share : float or None
        If there are no candidates, and more than 1,000 values: the smallest share of a name of the domain's public
        list, or, if it has none, the smallest share if 1,000 candidates were named. Infinite if no share is enough, as
        for `long_share` and `one_value_share`.
    known_names : int
        How many names the domain's public list has; 0 if there is none, or if there are candidates.
    long_share : float or None
        The smallest share of a long text; None if all values have the same length.
    values_per_person : int
        The number of slots of each person, one of which is reported. Shares are of the people who have a value in any
        slot.
    one_value_share : float or None
        With several slots: the smallest share if everybody had one value instead.
    instead : str
        If no number is enough: a sentence that says what would be.
    report_bytes, tally_bytes : int
        The bytes of one report on the wire, and of the sums in memory.
    decode_seconds : float
        About how long a search takes on one core.
    beliefs : tuple of Belief
        The most that one report can reveal about its sender.
    years : tuple of Year
        The total privacy loss of a person who answers several surveys.
    outside : Outside or None
        How private the sums are to an observer who sees nothing else; None if that is not known.
    outlook : Outlook
        Makes the predictions; it can answer further questions.
    every : int or None
        The days of a period, if the survey repeats. Everything else is about one period.
    """

    domain: Domain
    people: int | None
    epsilon: float | None
    share: float | None
    solved: str | None
    candidates: int
    wanted: float
    chance: float | None
    level: float
    mechanism: str
    rows: tuple[ShareRow, ...]
    limits: tuple[Limit, ...]
    named_share: float | None
    known_names: int
    long_share: float | None
    values_per_person: int
    one_value_share: float | None
    instead: str
    report_bytes: int
    tally_bytes: int
    decode_seconds: float
    beliefs: tuple[Belief, ...]
    years: tuple[Year, ...]
    outside: Outside | None
    outlook: Outlook = field(repr=False, compare=False)
    every: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The plan in sentences: what would be found, what it costs, and the privacy of one person."""
        said = [about_share(self), about_names(self), self.instead, about_limits(self), about_slots(self)]
        if self.long_share is not None:
            such = f", such as {self.domain.long_example}," if self.domain.long_example else ""
            needed = f"must be held by about {one_in(self.long_share)}"
            beyond = "would not be seen, even if all held it"
            said.append(f"A long one{such} {needed if math.isfinite(self.long_share) else beyond}.")
        said.append(
            f"A report has {self.report_bytes:,} bytes, the tally {size_words(self.tally_bytes)}, and a search takes "
            f"{time_words(self.decode_seconds)} ({self.mechanism})."
        )
        said += [f"The values: {self.domain.described}.", about_length(self.domain)]
        if self.epsilon is not None:
            said.append(about_one_person(self.epsilon))
        if self.epsilon is not None and self.every is not None:
            said.append(cost_words(Decimal(str(self.epsilon)), self.every))
            if self.people is not None and self.values_per_person == 1:
                built = self.outlook.mechanism_at(self.people, self.epsilon)
                gain = gain_needed(built, self.people, self.wanted, level=self.level)
                said.append(about_gain(self.people, self.epsilon, gain))
        if self.outside is not None:
            said += [self.outside.words, ASSUMPTION, WHY_IDS]
        return tuple(filter(None, said))

    def to_json(self) -> dict[str, Any]:
        """The object that `hubbub plan --json` prints."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("domain", "outlook")}
        for name in ("rows", "limits", "beliefs", "years"):
            plain[name] = [asdict(each) for each in plain[name]]
        beyond = [name for name in ("named_share", "long_share", "one_value_share") if plain[name] == math.inf]
        plain |= dict.fromkeys(beyond) | {"out_of_reach": beyond}  # JSON has no infinity
        plain["outside"] = None if self.outside is None else {**asdict(self.outside), "assumption": ASSUMPTION}
        return {"domain": repr(self.domain), **plain, "words": list(self.words)}

    def curves(self) -> dict[float, tuple[tuple[float, float], ...]]:
        """For a few ε, the chance to be found against the share, as (share, chance) pairs; takes a few seconds.

        Empty if no number of people is enough.
        """
        if self.people is None:
            return {}
        found = {}
        for limit in self.limits:
            least = limit.candidate_share if self.candidates else limit.share
            if least is not None:
                shares = [least * (0.4 + place / _POINTS) for place in range(round(1.1 * _POINTS)) if least > 0]
                found[limit.epsilon] = tuple(
                    (share, self.outlook.chance(self.people, limit.epsilon, share)) for share in shares if share <= 1
                )
        return found

    def __str__(self) -> str:
        return "\n".join(self.words)


def plan(
    domain: Domain | None = None,
    *,
    people: int | None = None,
    epsilon: Decimal | float | str | None = None,
    share: float | None = None,
    candidates: int = 0,
    mechanism: str | None = None,
    options: Mapping[str, object] | None = None,
    chance: float = 0.95,
    level: float = 0.05,
    values_per_person: int = 1,
    every: int | None = None,
) -> Plan:
    """What a survey would find, and what it takes: any two of people, epsilon and share give the third.

    Predictions are those of the mechanism that `create_survey` would choose. They are about a crowd in which no other
    value hides the value in question; docs/planning.md compares them with measurements. Takes up to a few seconds.

    Parameters
    ----------
    domain : Domain, optional
        The values that can be held; by default texts in lower case, as in `find`.
    people : int, optional
        How many will answer.
    epsilon : number, optional
        The privacy loss of each.
    share : float, optional
        The smallest share of the people that must be found, above 0 and at most 1.
    candidates : int
        How many values will be named in advance. The plan is then about one of those.
    mechanism, options
        As in `create_survey`.
    chance : float
        The chance with which the share should be found.
    level : float
        The chance, at most, that anything in the answer is wrong.
    values_per_person : int
        The number of slots of a person, one for each value that she may have; she reports one slot (see `find`).
    every : int, optional
        The survey repeats every so many days. The plan is about the reports of one period.

    Raises
    ------
    ParameterError
        If fewer than two of the three are given, or any argument cannot be used, or if the budget of a person does not
        allow the survey in every period.

    Examples
    --------
    >>> from hubbub import Categories, plan
    >>> print(plan(Categories(["yes", "no", "unsure"], other=False), people=2_000, epsilon=1).words[0])
    With 2,000 people at ε = 1 a value is seen if about 1 in 9 hold it (with a chance of 95 %).
    """
    given = {"people": people, "epsilon": epsilon, "share": share}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) > 1:
        got = next((f"only {name}" for name in given if name not in missing), "none")
        raise ParameterError(f"two of people, epsilon and share must be given, got {got}")
    known = None if epsilon is None else float(parse_epsilon(epsilon))
    if people is not None:
        people = parse_people("people", people)
    if share is not None:
        share = float(parse_decimal("share", share))
        if not 0 < share <= 1:
            raise ParameterError(f"share must be above 0 and at most 1, got share={shown(share)}")
    kind = Text() if domain is None else domain
    outlook = Outlook(kind, candidates, mechanism, options or {}, level, chance, values_per_person)
    solved = missing[0] if missing else None
    if people is None and known is not None and share is not None:
        needed = outlook.people_needed(known, share)
        people = round_up(needed) if math.isfinite(needed) else None
    elif known is None and people is not None and share is not None:
        needed = outlook.epsilon_needed(people, share)
        known = needed if math.isfinite(needed) else None
    elif share is None and people is not None and known is not None:
        least = outlook.smallest_share(people, known)
        share = least if math.isfinite(least) else None
    if every is not None:
        check_days(every)
        if known is not None:
            check_budget(Decimal(str(known)), every)
    return replace(_filled(outlook, people, known, share, solved, every), every=every)


def _filled(
    outlook: Outlook,
    people: int | None,
    epsilon: float | None,
    share: float | None,
    solved: str | None,
    every: int | None,
) -> Plan:
    """The plan, with everything else computed from the three numbers."""
    built = outlook.mechanism_at(people or 100_000, MOST_EPSILON if epsilon is None else epsilon)
    rows: tuple[ShareRow, ...] = ()
    limits: tuple[Limit, ...] = ()
    chance = named_share = long_share = one_value_share = None
    outside = None
    public = outlook.domain.names_list
    known = 0 if public is None or outlook.candidates else len(names(public))
    instead = ""
    if people is not None:
        limits = _limits(outlook, people, epsilon)
    if people is not None and epsilon is not None:
        rows = _share_rows(outlook, people, epsilon, share, limits)
        chance = None if share is None else outlook.chance(people, epsilon, share)
        if not outlook.candidates and not outlook.domain.is_list and outlook.values > NAMED:
            # Names of a public list have two thirds of the level, where candidates have half.
            level = outlook.level * (4 / 3 if known else 1)
            named_share = replace(outlook, candidates=known or NAMED, level=level).smallest_share(people, epsilon)
        if (bits := built.stated_bits[1]) is not None and not outlook.candidates:
            long_share = outlook.smallest_share(people, epsilon, bits)
        if outlook.slots > 1:
            one_value_share = replace(outlook, slots=1).smallest_share(people, epsilon)
        # Sums are kept for weeks, or for days if a period is not whole weeks.
        slices = 1 if every is None else every // 7 if every % 7 == 0 else every
        times = 1 if every is None else times_in(YEAR, every)
        outside = seen_from_outside(built, max(1, people // slices), times=times)
    if share is None and people is not None and epsilon is not None:
        instead = ways_to_see(outlook, people, epsilon, 0.5)
    elif epsilon is None and people is not None and share is not None:
        needed = outlook.people_needed(EPSILONS[-1], share)
        if math.isfinite(needed):
            instead = f"At ε = {EPSILONS[-1]:g} it takes about {round_up(needed):,} people."
    return Plan(
        domain=outlook.domain,
        people=people,
        epsilon=epsilon,
        share=share,
        solved=solved,
        candidates=outlook.candidates,
        wanted=outlook.wanted,
        chance=chance,
        level=outlook.level,
        mechanism=built.survey.mechanism,
        rows=rows,
        limits=limits,
        named_share=named_share,
        known_names=known,
        long_share=long_share,
        values_per_person=outlook.slots,
        one_value_share=one_value_share,
        instead=instead,
        report_bytes=built.report_bytes,
        tally_bytes=built.tally_bytes,
        decode_seconds=built.decode_seconds,
        beliefs=() if epsilon is None else beliefs(epsilon),
        years=() if epsilon is None else years(epsilon),
        outside=outside,
        outlook=outlook,
    )


def _share_rows(
    outlook: Outlook, people: int, epsilon: float, share: float | None, limits: tuple[Limit, ...]
) -> tuple[ShareRow, ...]:
    """Rows for round shares around the smallest one that is found, and one for the share of the plan."""
    here = next((limit for limit in limits if limit.epsilon == epsilon), None)
    least = None if here is None else here.candidate_share if outlook.candidates else here.share
    near = [each for each in LADDER if least is not None and max(least / 5, 1 / people) <= each <= 2.2 * least]
    shares = sorted({*near, *(() if share is None else (share,))})
    return tuple(
        ShareRow(each, held, outlook.chance(people, epsilon, each), outlook.stderr(people, epsilon, each))
        for each, held in ((each, each * people) for each in shares)
    )


def _limits(outlook: Outlook, people: int, epsilon: float | None) -> tuple[Limit, ...]:
    """The smallest share for the ε of the plan and for others, if the mechanism accepts them."""
    found = []
    searched = replace(outlook, candidates=0)
    for each in sorted({*EPSILONS, *(() if epsilon is None else (epsilon,))}):
        try:
            usual = _finite(searched.smallest_share(people, each))
            named = _finite(outlook.smallest_share(people, each)) if outlook.candidates else None
        except ParameterError:  # the chosen mechanism does not accept this ε
            continue
        found.append(Limit(each, usual, named))
    return tuple(found)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
