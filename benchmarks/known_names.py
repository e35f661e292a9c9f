"""Measure what names that everybody knows add to the answer of a small site; prints the tables of docs/names.md.

    python benchmarks/known_names.py [--crowds 100] [--seed SEED]

The crowd is made up: 2,400 visits, of which 30 % come from one known site, 24 % come directly, and the rest from twelve
smaller sites, two of which are on no list. The seed is drawn afresh unless it is given.
"""

from __future__ import annotations

import argparse
import secrets

import numpy as np

from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Question
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.coded_domain import Hostnames
from hubbub.model.mechanism import Histogram

VISITS = {
    "google.com": 720,
    "direct": 576,
    "news.ycombinator.com": 288,
    "reddit.com": 192,
    "github.com": 120,
    "duckduckgo.com": 96,
    "bing.com": 84,
    "chatgpt.com": 72,
    "t.co": 60,
    "weekly-letter.example": 48,
    "mastodon.social": 48,
    "en.wikipedia.org": 36,
    "linkedin.com": 36,
    "blog-of-a-friend.example": 24,
}


def shown(epsilon: str, names: str, crowds: int, seed: int) -> tuple[list[int], int]:
    """How many values of each crowd stand out, and how many shown values nobody holds."""
    domain, rng = Hostnames(), np.random.default_rng(seed)
    items, counts = domain.encode(list(VISITS)), np.array(list(VISITS.values()))
    found, wrong = [], 0
    for _ in range(crowds):
        survey = create_survey("names", domain, epsilon, expected_reports=2_400, public_seed=rng.bytes(32))
        mechanism = mechanism_for(survey)
        tally = mechanism.sample_tally(Histogram(items, counts), rng)
        answer = answer_question(mechanism, tally, Question(names=names).about(domain))
        values = [str(hitter.value) for hitter in answer.hitters if hitter.stands_out]
        found.append(sum(value in VISITS for value in values))
        wrong += sum(value not in VISITS for value in values)
    return found, wrong


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--crowds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.crowds} crowds of {sum(VISITS.values()):,} visits")
    print("| ε | names | sites shown, mean | at least two | shown though nobody holds them |")
    print("| --- | --- | --- | --- | --- |")
    for epsilon in ("1", "2", "4"):
        for names in ("none", "auto"):
            found, wrong = shown(epsilon, names, asked.crowds, asked.seed)
            two = np.mean(np.array(found) >= 2)
            print(f"| {epsilon} | {names} | {np.mean(found):.2f} | {100 * two:.0f} % | {wrong} |", flush=True)


if __name__ == "__main__":
    main()
