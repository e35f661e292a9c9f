"""Groups: how often the interval of any of them misses, and whether standard errors are right.

    python benchmarks/groups.py --crowds 200 --seed 1

Every crowd is asked at level 0.5, of which groups have a tenth: so any interval may miss in 5 % of crowds. Searches are
left out, since they take longest: the values that were found are the common ones. z is the error of a group's count in
standard errors. The mean of z² is 1 if these are right; it is below 1 where they allow for collisions that are rare.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hubbub import Categories, Domain, Histogram, Hostnames, Integers, Question, create_survey, mechanism_for, names
from hubbub.analysis.groups import count_groups
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.mechanism import add_up
from hubbub.model.tally import Tally
from hubbub.name_lists import groups as groups_of
from hubbub.numeric.randomness import SeededRandomWords

LEVEL, EPSILONS = 0.5, (1.0, 4.0)


class Kind(NamedTuple):
    """A kind of crowd: what is surveyed by what, the values that people hold, and the groups."""

    label: str
    domain: Domain
    mechanism: str
    people: int
    held: list[object]
    groups: dict[str, list[object]] | str


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    letters = [chr(97 + k) for k in range(20)]
    small: dict[str, list[object]] = {"two": ["a", "k"], "half": list(letters[::2]), "most": list(letters[1:])}
    for mechanism in ("subset", "tree", "jl", "naive-laplace"):
        yield Kind(f"list of 20, {mechanism}", Categories(letters), mechanism, 1_000, list(letters), small)
    ids: dict[str, list[object]] = {"top": [1, 2, 3], "mixed": [1, 900_001, 900_002], "none": list(range(5_000, 5_050))}
    yield Kind("ids of 32 bits", Integers(32), "tree", 3_000, list(range(1, 400)), ids)
    google: list[object] = [host for host, group in groups_of("sites").items() if group == "Google"]
    hosts = [*google[:40:2], *names("sites")[:40], *(f"site-{k}.example" for k in range(200))]
    yield Kind("hosts, public groups", Hostnames(), "tree", 3_000, list(dict.fromkeys(hosts)), "auto")


def crowd_of(built: SurveyMechanism, kind: Kind, rng: np.random.Generator) -> tuple[Tally, dict[object, int]]:
    """The tally of a crowd with counts by Zipf's law in random order, and how many hold each value."""
    weights = 1 / (1 + rng.permutation(len(kind.held)))
    counts = rng.multinomial(kind.people, weights / weights.sum())
    items = built.survey.domain.encode(kind.held)
    if built.samples_at_once:
        tally = built.sample_tally(Histogram(items[counts > 0], counts[counts > 0]), rng)
    else:
        everyone = np.repeat(items, counts, axis=0)
        source = SeededRandomWords(int(rng.integers(2**63)))
        reports = built.randomize(everyone, source.draw(len(everyone), built.random_words_per_report))
        tally = add_up(built, [reports])
    return tally, dict(zip(kind.held, counts.tolist(), strict=True))


def measure(kind: Kind, epsilon: float, crowds: int, seed: int) -> tuple[int, float, int]:
    """In how many crowds any interval missed, the mean of z², and the number of groups."""
    missed, squares = 0, []
    for number in range(crowds):
        rng = np.random.default_rng([seed, number, round(epsilon)])
        survey = create_survey("x", kind.domain, epsilon, None, kind.mechanism, None, kind.people)
        built = mechanism_for(survey)
        tally, held = crowd_of(built, kind, rng)
        asked = Question(level=LEVEL, groups=kind.groups).about(kind.domain)
        common = kind.domain.encode([value for value, many in held.items() if many > kind.people / 20])
        truth = {item.tobytes(): held[value] for value, item in zip(held, kind.domain.encode(list(held)), strict=True)}
        wrong = False
        # Of a public list, answers leave out groups that nobody surely holds; here they count, too.
        own = replace(asked, question=Question(level=LEVEL))
        for group in count_groups(built, tally, own, common, ()):
            true = sum(truth.get(item.tobytes(), 0) for item in asked.groups[group.name])
            wrong |= not group.low <= true <= group.high
            squares.append(((group.count - true) / group.stderr) ** 2)
        missed += wrong
    return missed, float(np.mean(squares)), len(asked.groups)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crowds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.crowds} crowds each\n")
    print("| crowd | ε | groups | crowds in which any interval missed | mean z² |\n| --- | --- | --- | --- | --- |")
    for kind in kinds():
        for epsilon in EPSILONS:
            missed, square, groups = measure(kind, epsilon, given.crowds, given.seed)
            row = f"| {kind.label} | {epsilon:g} | {groups} | {missed} of {given.crowds} | {square:.2f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
