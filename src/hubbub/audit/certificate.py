"""The certificate of a survey: the exact loss of every implementation, and what attains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import numpy as np

import hubbub
from hubbub.audit.exact import Fault, Worst, classes_of, worst_loss
from hubbub.audit.game import LEAST_DRAWS, MISTAKE, Played, check_draws, fixed_id, play
from hubbub.audit.implementations import Implementation, implementations, script_hashes
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.survey import Survey
from hubbub.numeric.randomness import SeededRandomWords

METHOD: Final = (
    "Each implementation was run on every class of random words, at all corners of the class and at a place inside. "
    "Classes were halved until their borders were known to the word. The loss is the largest ratio of the sizes of two "
    "values' classes, in whole numbers. It is over the listed numbers of values and of ids, among which each of the "
    "listed rows has one; the other values and ids run the same code."
)
_VALUES: Final = 16
_IDS: Final = 24
_FAST_RUNS: Final = 200_000  # reports to audit the library
_DRAWN: Final = 1 << 14  # ids among which one is looked for each row


@dataclass(frozen=True, slots=True)
class Finding:
    """What the audit of one implementation found: what tells most, or the check that failed, and how.

    `worst` is None if a check failed before; `check` and `sentence` are empty if all passed. `values`, `ids` and `rows`
    say how many were tried. `played` is the guessing game, if there was one.
    """

    implementation: Implementation
    worst: Worst | None
    check: str
    sentence: str
    values: int
    ids: int
    rows: int
    played: Played | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """The exact losses of a survey's implementations, beside the ε that is claimed."""

    survey: Survey
    epsilon: Decimal
    values: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing: dict[str, str]

    @property
    def failed(self) -> str:
        """What is wrong, in one sentence; empty if everything is within the claim."""
        for each in self.findings:
            if each.check:
                return f"{each.implementation.name} fails the check {each.check!r}: {each.sentence}"
        return ""

    def to_document(self) -> dict[str, Any]:
        """The certificate as JSON."""
        return {
            "survey_id": self.survey.survey_id.hex(),
            "mechanism": self.survey.mechanism,
            "version": hubbub.__version__,
            "epsilon": format(self.epsilon, "f"),
            "within": not self.failed,
            "method": METHOD,
            "implementations": [self._finding(each) for each in self.findings],
            "missing": [{"name": name, "reason": reason} for name, reason in self.missing.items()],
            "scripts": script_hashes(),
        }

    def _finding(self, found: Finding) -> dict[str, Any]:
        worst = found.worst
        ratio = None if worst is None else worst.ratio
        return {
            "name": found.implementation.name,
            "sources": found.implementation.sources,
            "loss": None if worst is None or ratio is None else f"{worst.loss:.30f}",
            "ratio": None if ratio is None else f"{ratio.numerator}/{ratio.denominator}",
            "pair": None if worst is None else [self.values[place] for place in worst.pair],
            "report": None if worst is None else worst.report.hex(),
            "values": found.values,
            "ids": found.ids,
            "rows": found.rows,
            "runs": 0 if worst is None else worst.runs,
            "played": None if found.played is None else played_document(found.played),
            "failed_check": found.check or None,
            "sentence": found.sentence or None,
        }


def played_document(played: Played) -> dict[str, Any]:
    """A guessing game as JSON."""
    return {
        "loss_at_least": played.loss_at_least,
        "mistake": MISTAKE,
        "part": played.part,
        "forms": played.forms,
        "hits": list(played.hits),
        "tested": list(played.tested),
    }


def certify(
    survey: Survey, epsilon: Decimal | None = None, draws: int = 0, advance: Callable[[int], None] = lambda _: None
) -> Certificate:
    """Audit everything here that makes reports of a survey. Takes seconds, or minutes if the client is slow.

    `epsilon` is the claim; by default the one that the survey states. With `draws`, a guessing game is played with so
    many reports of each of the worst two values; slow implementations make fewer. `advance` is told of each report.
    """
    mechanism = mechanism_for(survey)
    if not mechanism.word_classes:
        options = " ".join(f"{name}={text}" for name, text in survey.options.items())
        raise ParameterError(
            f"an exact audit must be of pure ε without Laplace noise, got {survey.mechanism} {options}"
        )
    if draws:
        check_draws(draws)
    values = some_values(survey)
    found, missing = implementations(survey, values)
    claim = survey.epsilon if epsilon is None else epsilon
    findings = []
    for implementation in found:
        try:
            found_worst = audit(implementation, mechanism, len(values), claim)
            findings.append(guessed(found_worst, mechanism, claim, draws, advance) if draws else found_worst)
        except ParameterError as error:
            missing[implementation.name] = str(error)
    return Certificate(survey, claim, tuple(values), tuple(findings), missing)


def audit(implementation: Implementation, mechanism: SurveyMechanism, values: int, epsilon: Decimal) -> Finding:
    """Audit one implementation: as many values and ids as its number of runs allows, but two values at least."""
    edges = mechanism.word_classes
    each = (2 ** len(edges) + 1) * len(classes_of(edges))
    room = implementation.most_runs // each
    if room < 2:
        raise ParameterError(
            f"{implementation.name} must make at most {implementation.most_runs} reports, got {2 * each}"
        )
    values = max(2, min(values, room // _IDS))
    ids = _some_ids(mechanism, max(1, room // values))
    rows = len(np.unique(mechanism.rows_of(np.array(ids, np.uint64))))
    tried = values, len(ids), rows
    try:
        worst = worst_loss(implementation.run, mechanism.report_dtype.itemsize, values, ids, edges)
    except Fault as fault:
        return Finding(implementation, None, fault.check, str(fault), *tried)
    sentence = f"the loss must be at most ε = {epsilon:f}, got {worst.loss:.6g}" if worst.loss > epsilon else ""
    return Finding(implementation, worst, "loss" if sentence else "", sentence, *tried)


def guessed(
    finding: Finding, mechanism: SurveyMechanism, epsilon: Decimal, draws: int, advance: Callable[[int], None]
) -> Finding:
    """The finding with a guessing game; as it was if there is no worst pair to play with."""
    if finding.worst is None:
        return finding
    slower = _FAST_RUNS // finding.implementation.most_runs
    played = play(
        fixed_id(finding.implementation, mechanism, finding.worst), max(LEAST_DRAWS, draws // slower), advance
    )
    sentence = above(played, epsilon)
    if finding.check or not sentence:
        return replace(finding, played=played)
    return replace(finding, played=played, check="game", sentence=sentence)


def above(played: Played, epsilon: Decimal) -> str:
    """What is wrong if a game shows more than is claimed; empty if it does not."""
    if played.loss_at_least <= float(epsilon):
        return ""
    return f"the loss must be at most ε = {epsilon:f}, got at least {played.loss_at_least:.6g} in a guessing game"


def some_values(survey: Survey) -> list[str]:
    """All values of a short list, or some of a large universe, as texts; no two have the same item."""
    domain = survey.domain
    rng = np.random.default_rng(1)
    listed = range(domain.size) if domain.size <= _VALUES else [0, domain.size - 1, *range(1, 2 * _VALUES)]
    if domain.size > 1 << 16:
        width = 8 * domain.item_limbs
        listed = [0, domain.size - 1, *(int.from_bytes(rng.bytes(width)) % domain.size for _ in range(2 * _VALUES))]
    width = 8 * domain.item_limbs
    items = np.array([np.frombuffer(each.to_bytes(width, "little"), "<u8") for each in listed], np.uint64)
    texts = [str(value) for value in domain.decode(items) if value is not None]
    texts += [f"site{number}.example" for number in range(2 * _VALUES)] if len(texts) < 2 else []
    places = np.unique(domain.encode(texts), axis=0, return_index=True)[1]
    return [texts[place] for place in sorted(places.tolist())][:_VALUES]


def _some_ids(mechanism: SurveyMechanism, most: int) -> list[tuple[int, int]]:
    """Ids of which each, as far as there is room, is about another row; and some more."""
    drawn = SeededRandomWords(1).draw(_DRAWN, 2)
    firsts = np.sort(np.unique(mechanism.rows_of(drawn), return_index=True)[1])
    chosen: Sequence[int] = [*firsts.tolist(), *range(_IDS)][:most]
    return [(int(drawn[place, 0]), int(drawn[place, 1])) for place in dict.fromkeys(chosen)]
