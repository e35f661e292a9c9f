"""`hubbub compare`: compares mechanisms and ε on the same people."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from hubbub.cli.common import number, parse_count, plural, print_json, print_table, progress
from hubbub.cli.options import Number, WholeNumber, column_option, guessed_domain_option, json_option, named_input
from hubbub.errors import InputError, ParameterError

if TYPE_CHECKING:
    from hubbub.model.domain import Domain
    from hubbub.model.estimates import Intake
    from hubbub.model.mechanism import Histogram
    from hubbub.simulation.compared import Comparison


@click.command
@click.argument("file", required=False, metavar="[FILE|-]", help="Lines, CSV, JSON lines or Parquet; - is stdin.")
@click.option("--zipf", type=Number(min=0), help="Instead of a file: rank r is held in proportion to 1/r^ZIPF.")
@click.option("--people", "-n", default="100k", help="With --zipf: how many people.")
@click.option(
    "--bits", type=WholeNumber(min=1, max=512), default=12, help="With --zipf: the universe has 2^BITS values."
)
@click.option("--values", default="1000", help="With --zipf: how many values are held.")
@column_option
@guessed_domain_option
@click.option("--mechanisms", help="Names from `hubbub mechanisms`, separated by commas. Default: all that can run.")
@click.option("--epsilons", default="0.5,1,2,4", help="Numbers, separated by commas.")
@click.option("--top", type=WholeNumber(min=1), default=10, help="How many of the most common values should be found.")
@click.option("--runs", type=WholeNumber(min=1, max=10_000), default=1, help="Repetitions of each.")
@click.option("--seed", type=WholeNumber(min=0), help="Repeat a comparison exactly, except for times.")
@click.option("--plot", metavar="FILE", help="Draw F1 against ε, a line for each mechanism: .png, .svg, .pdf.")
@click.option("--peers", metavar="FOLDER", help="Also run pure-ldp, from this virtual environment.")
@json_option
def compare(
    file: str | None,
    zipf: float | None,
    people: str,
    bits: int,
    values: str,
    column: str | None,
    domain: str | None,
    mechanisms: str | None,
    epsilons: str,
    top: int,
    runs: int,
    seed: int | None,
    plot: str | None,
    peers: str | None,
    as_json: bool,
) -> None:
    """Run mechanisms at several ε on the same people, and see what each finds and costs.

    Everybody's report is made, added up and decoded. Recall is the share of the most common values that was found.
    Precision is the share of the found values that is among them. F1 is their harmonic mean. The recommended mechanism
    is named, with the reason.

    \b
    hubbub compare --zipf 1.2 -n 100k --bits 12
    hubbub compare referrers.txt --domain hostnames --mechanisms tree,bucket --epsilons 1,4
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.analysis.plots import check_plot_file
    from hubbub.cli.domains import domain_file
    from hubbub.model.estimates import Intake
    from hubbub.outputs import check_outputs
    from hubbub.simulation.comparison import compare as run

    if plot is not None:
        check_plot_file(plot)
        check_outputs([plot], [None if file is None else named_input(file), domain_file(domain)])
    chosen = _numbers(epsilons)
    names = None if mechanisms is None else [name.strip() for name in mechanisms.split(",")]
    used_seed = secrets.randbits(32) if seed is None else seed
    if (file is None) == (zipf is None):
        raise ParameterError("a comparison must have a FILE or --zipf, got " + ("neither" if file is None else "both"))
    for name, given in (("column", column), ("domain", domain)):
        if file is None and given is not None:
            raise ParameterError(f"--{name} must come with a FILE, got {name}={given!r:.60}")
    intake = Intake()
    if file is None:
        kind, crowd = _made_up(
            parse_count("people", people), zipf or 0.0, bits, parse_count("values", values), used_seed
        )
    else:
        kind, crowd, intake = _from_file(file, column, domain)
    from hubbub.mechanisms.registry import REGISTRY

    with progress("Comparing", len(chosen) * runs * len(names or REGISTRY), "surveys") as advance:
        found = run(kind, crowd, names, chosen, top, runs, used_seed, lambda: advance(1), peers)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        print_json({**found.to_json(), "missing": intake.missing, "cut": intake.cut, "other": intake.other})
    else:
        _show(found, intake)


def _numbers(text: str) -> list[float]:
    """Epsilons from a text, separated by commas."""
    from hubbub.model.numbers import parse_epsilon

    return [float(parse_epsilon(part.strip())) for part in text.split(",")]


def _made_up(people: int, zipf: float, bits: int, values: int, seed: int) -> tuple[Domain, Histogram]:
    """A simulated crowd."""
    import numpy as np

    from hubbub.model.domain import Integers
    from hubbub.simulation.population import zipf as draw

    rng = np.random.default_rng([seed, 1])
    return Integers(bits), draw(people, zipf, min(values, 2**bits - 1), bits, rng)


def _from_file(file: str, column: str | None, domain: str | None) -> tuple[Domain, Histogram, Intake]:
    """The people of a file, as items with the number of people who hold each, and what was not kept as given."""
    import numpy as np

    from hubbub.cli.domains import parse_domain
    from hubbub.finding import default_domain
    from hubbub.inputs.encoding import Encoder
    from hubbub.inputs.people import open_people
    from hubbub.model.mechanism import Histogram

    with open_people(file, column=column) as people:
        kind = default_domain(next(people.chunks(), [])) if domain is None else parse_domain(domain)
        encoder = Encoder(kind, people.missing)
        parts = [encoder.encode(chunk) for chunk in people.chunks()]
    if not parts:
        raise InputError(f"the file must hold at least one person's value, got none in {file!r}")
    items, counts = np.unique(np.concatenate(parts), axis=0, return_counts=True)
    return kind, Histogram(items, counts.astype(np.int64)), encoder.intake


def _draw(found: Comparison, plot: str) -> None:
    from hubbub.analysis.plots import draw_against_epsilon

    names = dict.fromkeys(row.mechanism for row in found.rows)
    curves = {name: [(row.epsilon, row.f1) for row in found.rows if row.mechanism == name] for name in names}
    if not curves:
        raise ParameterError("a figure must have a mechanism that can be run, got none")
    title = f"The {found.k} most common of {found.distinct:,} values, {found.people:,} people"
    draw_against_epsilon(plot, title, f"F1 at {found.k}", curves)


def _show(found: Comparison, intake: Intake) -> None:
    """Print a row for each mechanism and ε, and the recommendation below."""
    from hubbub.analysis.sentences import about_intake

    headings = ["recall", "precision", "F1", "error", "sees from", "bytes", "encode ns", "tally ns", "decode ms"]
    rows = [
        [
            row.mechanism,
            f"{row.epsilon:g}" + (f", δ = {row.delta:.0e}" if row.delta else ""),
            f"{row.recall:.2f}",
            f"{row.precision:.2f}",
            f"{row.f1:.2f}",
            "–" if row.count_error is None else number(row.count_error),
            "–" if row.detection_limit is None else number(row.detection_limit),
            f"{row.report_bytes:,}",
            number(row.encode_ns),
            number(row.tally_ns),
            number(1e3 * row.decode_seconds),
        ]
        for row in found.rows
    ]
    columns = [("mechanism", "left"), ("ε", "left"), *((heading, "right") for heading in headings)]
    title = (
        f"The {found.k} most common of {plural(found.distinct, 'value')}, {plural(found.people, 'person', 'people')}, "
        f"{plural(found.runs, 'run')}, seed {found.seed}"
    )
    left_out = [f"Left out: {name}: {why}." for name, why in found.left_out.items()]
    print_table(title, columns, rows, [*filter(None, [found.reason, *left_out, about_intake(intake)])])
