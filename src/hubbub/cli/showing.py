"""Shows an answer: as a table with sentences below it, or as one JSON object."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hubbub.analysis.wording import cells, number, plural, stands
from hubbub.cli.common import print_json, print_table
from hubbub.cli.options import WholeNumber, all_of, json_option, level_option, parse_share
from hubbub.errors import ParameterError, system_reason
from hubbub.outputs import check_outputs

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer
    from hubbub.analysis.question import Question
    from hubbub.analysis.reply import Heading
    from hubbub.inputs.encoding import Truth
    from hubbub.model.survey import Survey

_TRUTH_SHOWN = 20
_UNSEEN_SHOWN = 10  # rows of values that were not seen, at most
_LIST_SHOWN = 50  # rows of a list on a terminal
_UNSEEN = {"kept": "not seen", "cut": "was cut", "other": "is (other)"}


@dataclass(frozen=True)
class AnswerView:
    """An answer under its heading; with the true counts if the values are known.

    `survey` returns the whole survey. Most answers are shown without it, and it may have to be fetched.
    """

    heading: Heading
    survey: Callable[[], Survey]
    answer: Answer
    truth: Truth | None
    seconds: float


@dataclass(frozen=True)
class Wanted:
    """What the options say about a question, as in `Question`, and about what is done with its answer.

    `candidates`, `names` and `groups` are files, or the latter two are words; `plot` and `csv` are files to
    write. `post` is a method of post-processing.
    """

    candidates: str | None
    names: str
    all_candidates: bool
    hitters_only: bool
    top: int
    level: float
    values_per_person: int
    guesses: int
    groups: str
    mode: str
    share: str
    forged: int
    post: str
    plot: str | None
    csv: str | None
    as_json: bool

    def check(self, inputs: Iterable[str | None]) -> None:
        """Refuse an unknown method or an impossible output file, before any input is read."""
        if (self.post, self.plot, self.csv) == ("none", None, None):
            return  # nothing has to be loaded
        from hubbub.analysis.post_processing import check_method

        check_method(self.post)
        if self.plot is not None:
            from hubbub.analysis.plots import check_plot_file

            check_plot_file(self.plot)
        own = [each for each in (self.names, self.groups) if each not in ("own", "auto", "none")]
        check_outputs([self.plot, self.csv], [*inputs, self.candidates, *own])

    def question(self) -> Question:
        """The question; reads the file of candidates."""
        from hubbub.analysis.question import Question
        from hubbub.cli.domains import read_candidates, read_groups, read_some_names

        named = read_candidates(self.candidates)
        names = self.names if self.names in ("auto", "none") else read_some_names(self.names)
        return Question(
            self.top,
            self.level,
            named,
            self.all_candidates,
            self.hitters_only,
            self.values_per_person,
            names,
            self.guesses,
            self.groups if self.groups in ("own", "auto", "none") else read_groups(self.groups),
            self.mode,
            parse_share(self.share),
            self.forged,
        )

    def deliver(self, view: AnswerView, question: Question) -> None:
        """Write the files that were asked for, and print the answer."""
        if self.post != "none":
            view = replace(view, answer=view.answer.post_processed(self.post))
        if self.csv is not None:
            from hubbub.analysis.tables import as_csv

            try:  # in place, since it may be a pipe; values of a domain have no lone surrogates
                Path(self.csv).write_text(as_csv(view.answer), encoding="utf-8", newline="")
            except OSError as error:
                raise ParameterError(f"cannot write {self.csv!r}: {system_reason(error)}") from None
        if self.plot is not None:
            from hubbub.analysis.plots import save_plot

            save_plot(view.answer, self.plot)
        if self.as_json:
            print_json(to_json(view))
        else:
            show(view, question)


_ANSWER_OPTIONS = all_of(
    click.option(
        "--candidates", metavar="FILE", help="Values named in advance, one per line: a smaller count is enough."
    ),
    click.option(
        "--names",
        default="auto",
        metavar="LIST",
        help="Names to check by name: auto (those of the survey, and public ones of hosts and words), none, or a file.",
    ),
    click.option("--all-candidates", is_flag=True, help="A row for every candidate or name of the survey."),
    click.option(
        "--hitters-only", is_flag=True, help="For a list: only the values that stand out, instead of all values."
    ),
    click.option("--top", type=WholeNumber(min=1), default=20, help="At most this many values."),
    level_option,
    click.option(
        "--values-per-person",
        type=WholeNumber(min=1, max=1000),
        default=1,
        metavar="K",
        help="Each person has K slots for values, and reports one; in a file, --person says who has which.",
    ),
    click.option(
        "--guesses",
        type=WholeNumber(min=0, max=1000),
        default=0,
        metavar="K",
        help="Also the K next best values, each with the chance that many people hold it.",
    ),
    click.option(
        "--groups",
        default="own",
        metavar="LIST",
        help="Values to count together: own (of the survey), auto (public, too), none, or a file: value, tab, group.",
    ),
    click.option(
        "--mode",
        default="no-false-positives",
        metavar="MODE",
        help="no-false-positives: what surely is above --share; no-false-negatives: all named values that may be.",
    ),
    click.option("--share", default="0", help="A share of the people for --mode: 0.01, 1% or 1/100."),
    click.option(
        "--forged",
        type=WholeNumber(min=0),
        default=0,
        metavar="M",
        help="Suppose that M of the reports are forged: what holds whichever those are.",
    ),
    click.option(
        "--post", default="none", metavar="METHOD", help="Make counts plausible afterwards: none, clip or simplex."
    ),
    click.option("--plot", metavar="FILE", help="Draw the answer: FILE.png, FILE.svg or FILE.pdf."),
    click.option("--csv", metavar="FILE", help="Also write the rows as CSV."),
    json_option,
)


def answer_options(function: Callable[..., None]) -> Callable[..., None]:
    """All options about a question and its answer; the function gets them as one argument, `wanted`."""

    @functools.wraps(function)
    def with_wanted(**given: Any) -> None:
        """Collect the options."""
        wanted = Wanted(**{field.name: given.pop(field.name) for field in fields(Wanted)})
        function(wanted=wanted, **given)

    return _ANSWER_OPTIONS(with_wanted)


def to_json(view: AnswerView) -> dict[str, Any]:
    """The answer as the JSON object that docs/commands.md describes."""
    survey = view.survey()
    document = {
        "survey": json.loads(survey.to_json()),
        "survey_id": survey.survey_id.hex(),
        **({} if view.heading.period is None else {"period": view.heading.period}),
        **view.answer.to_document(),
    }
    if view.truth is not None:
        for hitter in document["hitters"]:
            hitter["true_count"] = view.truth.count(hitter["value"])
        document["truth"] = [asdict(held) for held in view.truth.largest(_TRUTH_SHOWN)]
    return {**document, "seconds": view.seconds}


def show(view: AnswerView, question: Question) -> None:
    """Print the domain, and the answer to the question as a table with sentences below it."""
    from hubbub.analysis.sentences import BELOW, about_first, told

    heading, answer = view.heading, view.answer
    click.echo(f"Domain: {heading.domain}.")
    with_named = answer.candidate_limit is not None or any(hitter.late for hitter in answer.hitters)
    columns = [("value", "left"), ("people", "right"), ("share", "right"), ("between", "right"), ("sure", "right")]
    columns += [("named", "left")] if with_named else []
    # If the true counts are known, the number of crafted reports is of no interest.
    columns += [("true", "right")] if view.truth else [("fakes", "right")]
    columns += [("stands", "left")] if answer.forged else []
    rows = []
    for hitter in answer.hitters[: _LIST_SHOWN if answer.whole_list else None]:
        *texts, fakes = cells(hitter)
        named = "after looking" if hitter.late else "yes" if hitter.listed else "no"
        row = [str(hitter.value), *texts, *([named] if with_named else [])]
        row.append(number(view.truth.count(hitter.value)) if view.truth else fakes)
        rows.append([*row, *([stands(hitter, answer.forged)] if answer.forged else [])])
    if view.truth and not answer.forged:
        rows += _unseen(view.truth, answer, question.top, with_named)
    title = f"{heading.mechanism}: {plural(answer.reports, 'report')}, {heading.privacy}"
    title += f", {heading.period}" if heading.period else ""
    caption = told(answer, ("limits", "list"), heading.long_example)
    caption[-1] += f" {view.seconds:.1f} s."
    if answer.whole_list:
        caption.insert(0, about_first(_LIST_SHOWN, len(answer.hitters), "; --json has all of them"))
    domain = None if answer.intake is None else view.survey().domain
    caption += told(answer, set(BELOW) - {"limits", "list"}, domain=domain)
    if not any(hitter.stands_out for hitter in answer.hitters):
        caption += _about_needed(view.survey(), answer, question)
    print_table(title, columns, rows, list(filter(None, caption)))


def _unseen(truth: Truth, answer: Answer, top: int, with_named: bool) -> list[list[str]]:
    """Rows for the most common values that are missing in the answer."""
    seen = {hitter.value for hitter in answer.hitters}
    # If the table is full, a missing value may have been found anyway. A whole list is shown beyond the top.
    most = min(_UNSEEN_SHOWN, top if answer.whole_list else max(0, top - len(seen)))
    missing = [held for held in truth.largest(_TRUTH_SHOWN)[:_UNSEEN_SHOWN] if held.value not in seen][:most]
    return [
        [str(held.value), "–", "–", _UNSEEN[held.fate], "–", *(["–"] if with_named else []), number(held.count)]
        for held in missing
    ]


def _about_needed(survey: Survey, answer: Answer, question: Question) -> list[str]:
    """If nothing stands out: a sentence that says what it would have taken, as in `hubbub plan`."""
    from hubbub.analysis.outlook import what_is_needed

    candidates = question.about(survey.domain).candidates
    said = what_is_needed(survey, answer.reports, question.level, candidates, answer.values_per_person)
    return [said] if said else []
