"""`hubbub simulate`: simulates a survey of n people at some epsilon."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from hubbub.analysis.wording import percent
from hubbub.cli.common import number, parse_count, plural, print_json, print_table, progress
from hubbub.cli.options import Number, WholeNumber, delta_option, epsilon_option, json_option, options_option
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from hubbub.simulation.experiment import Crowd, Simulated

_OF_THE_FOUND = "of the found value"


@click.command
@click.option("--mechanism", "-m", required=True, help="A name of `hubbub mechanisms`, or exponential.")
@click.option("--people", "-n", required=True, help="How many: 1e6, 5m, 2_000_000.")
@options_option
@click.option("--bits", type=WholeNumber(min=1, max=512), default=16, help="The universe has 2^BITS values.")
@click.option("--zipf", type=Number(min=0), help="Crowd: rank r is held in proportion to 1/r^ZIPF.")
@click.option("--heavy", type=Number(min=0, max=1), help="Crowd: one value is held by this share of people.")
@click.option("--tail", help="With --heavy: how many values the rest holds equally (1000), or `distinct`.")
@click.option("--uniform", is_flag=True, help="Crowd: all values equally often.")
@click.option("--values", help="With --zipf or --uniform: how many values are held.")
@epsilon_option
@delta_option
@click.option("--runs", type=WholeNumber(min=1, max=1_000_000), default=1, help="Independent repetitions.")
@click.option("--seed", type=WholeNumber(min=0), help="Repeat a simulation exactly.")
@json_option
def simulate(
    mechanism: str,
    people: str,
    options: dict[str, str],
    bits: int,
    zipf: float | None,
    heavy: float | None,
    tail: str | None,
    uniform: bool,
    values: str | None,
    epsilon: str,
    delta: str | None,
    runs: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Simulate a mechanism on a crowd and compare with the truth, and with a theorem if it has one.

    The sums of all reports are drawn at once, so that a billion people take seconds; a note says what is approximate.
    For some mechanisms, such as `jl -o projection=dense`, reports are made one by one, with at most 200 million draws
    of noise. The default crowd is --zipf 1.2. A run succeeds if it finds the most common value.

    \b
    hubbub simulate -m jl -n 1e6 --bits 16 --zipf 1.1
    hubbub simulate -m tree -n 1e9 --bits 64 --heavy 0.01
    hubbub simulate -m bucket -n 8000 --bits 32 --heavy 0.5 --runs 20
    hubbub simulate -m bucket -n 8.1e7 --bits 32 --heavy 0.5 -o calibration=paper -o decoder=hard
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.simulation.experiment import Experiment
    from hubbub.simulation.experiment import simulate as run

    crowd_size = parse_count("people", people)
    name, crowd = _crowd(crowd_size, bits, zipf, heavy, tail, uniform, values)
    used_seed = secrets.randbits(32) if seed is None else seed
    experiment = Experiment(mechanism, crowd_size, crowd, bits, epsilon, delta, options, runs, used_seed)
    with progress("Simulating", runs, "runs") as advance:
        result = run(experiment, lambda: advance(1))
    if as_json:
        print_json({"crowd": name, **result.to_json()})
    else:
        _show(name, result)


def _crowd(
    people: int, bits: int, zipf: float | None, heavy: float | None, tail: str | None, uniform: bool, values: str | None
) -> tuple[str, Crowd]:
    """The crowd of the options: its name, and a function that draws it."""
    from hubbub.simulation import population

    if (zipf is not None) + (heavy is not None) + uniform > 1:
        raise ParameterError("a crowd must be one of --zipf, --heavy and --uniform, got more than one")
    if tail is not None and heavy is None:
        raise ParameterError(f"tail must come with --heavy, got tail={tail!r}")
    if values is not None and heavy is not None:
        raise ParameterError(f"values must come with --zipf or --uniform, got values={values!r}")
    if heavy is not None:
        many: int | None = min(population.DEFAULT_TAIL, 2**bits - 2)
        if tail is not None:
            many = None if tail == "distinct" else parse_count("tail", tail)
        share = heavy
        return f"heavy {heavy}, tail {tail or many}", lambda rng: population.heavy(people, share, many, bits, rng)
    held = min(2**bits - 1, population.DEFAULT_VALUES) if values is None else parse_count("values", values)
    if uniform:
        return f"uniform over {plural(held, 'value')}", lambda rng: population.uniform(people, held, bits, rng)
    exponent = 1.2 if zipf is None else zipf
    return f"zipf {exponent} over {plural(held, 'value')}", lambda rng: population.zipf(
        people, exponent, held, bits, rng
    )


def _errors(result: Simulated, what: str) -> list[list[str]]:
    """The rows of the errors; errors of the found value are over the runs that found it."""
    if result.mean_error is None or result.max_error is None:
        return [[f"error {what}", "none: no run found it"]]
    searched = what == _OF_THE_FOUND and result.successes < result.runs
    what += f" ({plural(result.successes, 'run')})" if searched else ""
    return [
        [f"mean error {what}", number(result.mean_error)],
        [f"largest error {what}", number(result.max_error)],
    ]


def _bound(result: Simulated) -> list[str]:
    """The row of the error bound: a theorem's, or the mechanism's own normal approximation, which proves nothing."""
    holds = percent(1 - result.bound_beta, 0)
    if result.bound_kind == "theorem":
        return ["theorem's error bound", f"{number(result.bound)} (holds with chance {holds})"]
    return ["error bound, no theorem", f"{number(result.bound)} (normal approximation for one value, {holds})"]


def _show(crowd: str, result: Simulated) -> None:
    """Print the result as a table, one fact per line."""
    options = " ".join(f"{key}={value}" for key, value in result.options.items())
    title = f"{result.mechanism} {options}" + ("" if result.local else "  (NOT local: it sees every value)")
    what = "of every value" if result.of_every_value else _OF_THE_FOUND
    rate = percent(result.success_rate, 1)
    rows = [
        ["crowd", f"{plural(result.people, 'person', 'people')}, 2^{result.bits} values, {crowd}"],
        ["privacy", f"ε = {result.epsilon:g}" + (f", δ = {result.delta:g}" if result.delta else "")],
        ["heavy hitter found", f"{result.successes} of {plural(result.runs, 'run')} ({rate})"],
        *_errors(result, what if result.local else "in count of the chosen value"),
        _bound(result),
    ]
    if (theorem := result.theorem) is not None:
        held = "holds" if theorem.holds else "does not hold, so nothing is promised"
        counts = f"a count of {number(theorem.needed_corrected)} needed, {number(theorem.heavy_hitter_count)} held"
        rows.append(["theorem's condition", f"{counts}: {held}"])
    if result.approximation:
        rows.append(["note", f"approximate: {result.approximation}"])
    rows.append(["time, memory, seed", f"{result.seconds:.2f} s, {result.peak_memory_mb:,.0f} MB, {result.seed}"])
    print_table(title, [("", "left"), ("", "left")], rows)
