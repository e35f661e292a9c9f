"""`hubbub simulate`: the documented JSON, repeatable runs, the numbers the paper promises, and its limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest

Cli = Callable[..., CompletedProcess[str]]

DOCUMENTED = {
    *("mechanism", "options", "people", "bits", "epsilon", "delta", "runs"),
    *("success_rate", "mean_error", "max_error", "bound", "seconds"),
}
MEASURED = ("seconds", "peak_memory_mb")
SMALL = ("--bits", "8", "--people", "5000", "--seed", "1")

JL = ("-m", "jl")
JL_TIGHT = ("-m", "jl", "-o", "calibration=tight")
JL_DENSE = ("-m", "jl", "-o", "projection=dense")
BUCKET = ("-m", "bucket")
BUCKET_HARD = ("-m", "bucket", "-o", "calibration=paper", "-o", "decoder=hard")
NAIVE = ("-m", "naive-laplace")
EXPONENTIAL = ("-m", "exponential")
ALL = [JL, JL_TIGHT, JL_DENSE, BUCKET, BUCKET_HARD, NAIVE, EXPONENTIAL]


def names(options: tuple[str, ...]) -> str:
    """A short name for a test."""
    return " ".join(option for option in options if option not in ("-m", "-o"))


def result(run: CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object of a run that went well: one line on stdout, nothing on stderr."""
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    return json.loads(run.stdout)


def refusal(run: CompletedProcess[str]) -> str:
    """The one sentence of a run that was refused."""
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("hubbub: ")
    assert run.stderr.count("\n") == 1
    return run.stderr


def without_measured(document: dict[str, Any]) -> dict[str, Any]:
    """All but time and memory."""
    return {key: value for key, value in document.items() if key not in MEASURED}


class TestJson:
    """The documented object."""

    @pytest.mark.parametrize("options", ALL, ids=names)
    def test_it_has_the_documented_fields(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """The object has every documented field, and they say what was asked for."""
        found = result(hubbub_cli("simulate", *options, *SMALL, "--runs", "3", "--json"))
        assert set(found) >= DOCUMENTED
        assert found["mechanism"] == options[1]
        assert (found["people"], found["bits"], found["runs"], found["seed"]) == (5000, 8, 3, 1)
        assert found["epsilon"] == 1
        assert found["success_rate"] in (0, 1 / 3, 2 / 3, 1)
        if options is BUCKET_HARD:  # too few people for the paper's noise: nothing is found that could be off
            assert (found["successes"], found["mean_error"], found["max_error"]) == (0, None, None)
        else:
            assert 0 <= found["mean_error"] <= found["max_error"]
        assert found["bound"] > 0
        assert found["seconds"] > 0
        given = dict(option.split("=") for option in options[2:] if option != "-o")
        assert given.items() <= found["options"].items()

    @pytest.mark.parametrize(
        ("options", "delta"),
        [(JL, 0), (JL_TIGHT, 1e-6), (BUCKET, 0), (BUCKET_HARD, 1e-6), (NAIVE, 1e-15), (EXPONENTIAL, 0)],
        ids=str,
    )
    def test_the_default_delta(self, hubbub_cli: Cli, options: tuple[str, ...], delta: float) -> None:
        """Delta is 0 where the mechanism is pure and 1e-6 for the noise of the paper."""
        assert result(hubbub_cli("simulate", *options, *SMALL, "--json"))["delta"] == delta

    @pytest.mark.parametrize("options", ALL, ids=names)
    def test_only_the_exponential_mechanism_is_not_local(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """Whoever reads the object is told that the centralised baseline is not local."""
        assert result(hubbub_cli("simulate", *options, *SMALL, "--json"))["local"] is (options is not EXPONENTIAL)

    @pytest.mark.parametrize(
        ("text", "people"),
        [
            ("1000", 1000),
            ("1e3", 1000),
            ("1E3", 1000),
            ("2_000", 2000),
            ("2,000", 2000),
            ("1.5k", 1500),
            ("5m", 5_000_000),
            ("5M", 5_000_000),
            ("1e6", 1_000_000),
            ("2_000_000", 2_000_000),
            ("7.9e7", 79_000_000),
            ("1b", 10**9),
            ("0.5g", 5 * 10**8),
            ("1000.0", 1000),
        ],
    )
    def test_people_as_people_write_them(self, hubbub_cli: Cli, text: str, people: int) -> None:
        """A number of people may be written with a power, a suffix or separators."""
        found = result(hubbub_cli("simulate", *NAIVE, "--bits", "4", "--people", text, "--seed", "1", "--json"))
        assert found["people"] == people


class TestSeeds:
    """Simulations that can be repeated."""

    @pytest.mark.parametrize("options", ALL, ids=names)
    def test_the_same_seed_gives_the_same_numbers(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """With the same seed everything but time and memory is the same; with another the errors differ."""
        few = ("--bits", "8", "--people", "300", "--runs", "2", "--json")
        first, second, other = (
            without_measured(result(hubbub_cli("simulate", *options, *few, "--seed", seed))) for seed in "112"
        )
        assert first == second
        if options in (EXPONENTIAL, BUCKET_HARD):  # errors that are whole numbers or none may agree
            assert other["seed"] == 2
        else:
            assert other["mean_error"] != first["mean_error"]

    def test_the_seed_that_was_drawn_is_told(self, hubbub_cli: Cli) -> None:
        """A simulation without a seed can be repeated from the seed it tells."""
        options = ("simulate", *JL, "--bits", "8", "--people", "5000", "--json")
        first = result(hubbub_cli(*options))
        again = result(hubbub_cli(*options, "--seed", first["seed"]))
        assert without_measured(again) == without_measured(first)

    def test_runs_are_independent(self, hubbub_cli: Cli) -> None:
        """Two runs are not the same run twice: their mean error lies below their largest."""
        found = result(
            hubbub_cli("simulate", *BUCKET, "--heavy", "0.9", "--tail", "9", *SMALL, "--runs", "2", "--json")
        )
        assert found["mean_error"] < found["max_error"]


class TestPromises:
    """The numbers the documentation promises, on fixed seeds."""

    def test_the_paper_s_bucket_mechanism_at_its_own_scale(self, hubbub_cli: Cli) -> None:
        """At 79 million people the mechanism of the paper finds a value half of them hold, every time."""
        options = ("--bits", "32", "--heavy", "0.5", "--people", "7.9e7", "--runs", "20", "--seed", "1", "--json")
        found = result(hubbub_cli("simulate", *BUCKET_HARD, *options))
        assert found["success_rate"] == 1
        assert found["runs"] == 20

    @pytest.mark.slow
    def test_one_bit_and_soft_decoding_need_8000_people(self, hubbub_cli: Cli) -> None:
        """At 8,000 people one bit of each is enough, at least 18 times of 20."""
        options = ("--bits", "32", "--heavy", "0.5", "--people", "8000", "--runs", "20", "--seed", "1", "--json")
        assert result(hubbub_cli("simulate", *BUCKET, *options))["success_rate"] >= 18 / 20

    @pytest.mark.parametrize("calibration", ["onebit", "tight", "paper"])
    def test_jl_stays_below_its_bound(self, hubbub_cli: Cli, calibration: str) -> None:
        """No count of the whole universe is further off than the theorem allows."""
        options = ("-o", f"calibration={calibration}", "--bits", "16", "--people", "1e6", "--zipf", "1.1")
        found = result(hubbub_cli("simulate", *JL, *options, "--seed", "1", "--json"))
        assert found["max_error"] <= found["bound"]
        assert found["success_rate"] == 1

    @pytest.mark.parametrize("options", [NAIVE, JL_DENSE, EXPONENTIAL], ids=names)
    def test_the_others_stay_below_their_bounds(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """The naive baseline, the dense projection and the centralised baseline keep their theorems too."""
        found = result(
            hubbub_cli("simulate", *options, "--bits", "8", "--people", "20000", "--runs", "3", "--seed", "1", "--json")
        )
        assert found["max_error"] <= found["bound"]

    def test_trust_would_buy_a_lot(self, hubbub_cli: Cli) -> None:
        """The centralised baseline errs far less than any local mechanism on the same crowd."""
        central, local = (
            result(hubbub_cli("simulate", *options, "--people", "1e6", "--seed", "1", "--json"))
            for options in (EXPONENTIAL, JL)
        )
        assert central["success_rate"] == 1
        assert central["max_error"] < local["max_error"] / 100

    @pytest.mark.parametrize(
        "options", [NAIVE, JL, (*JL_TIGHT, "--bits", "10"), BUCKET, BUCKET_HARD, EXPONENTIAL], ids=names
    )
    def test_a_billion_people_take_seconds(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """However many people there are, drawing the sums of their reports takes seconds."""
        found = result(hubbub_cli("simulate", *options, "--people", "1e9", "--heavy", "0.5", "--seed", "1", "--json"))
        assert found["people"] == 10**9
        assert found["success_rate"] == 1

    @pytest.mark.parametrize("options", [JL, (*JL, "-o", "calibration=paper"), NAIVE], ids=names)
    def test_the_largest_crowd_is_computed_rightly(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """At the most people that are accepted, 10^15, no sum overflows: the errors stay below the bound."""
        found = result(
            hubbub_cli(
                "simulate", *options, "--bits", "14", "--people", "1e15", "--heavy", "0.9", "--seed", "1", "--json"
            )
        )
        assert found["success_rate"] == 1
        assert found["max_error"] <= found["bound"]


class TestCrowds:
    """Who holds what."""

    @pytest.mark.parametrize(
        "options", [("--zipf", "1.5"), ("--heavy", "0.3", "--tail", "70"), ("--uniform",), ()], ids=str
    )
    def test_the_crowd_is_named(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """The object says which crowd was simulated, with its numbers."""
        crowd = result(hubbub_cli("simulate", *NAIVE, *SMALL, *options, "--json"))["crowd"]
        assert all(option.strip("-") in crowd for option in options or ("--zipf", "1.2"))

    def test_without_a_crowd_it_is_zipf(self, hubbub_cli: Cli) -> None:
        """No crowd option means --zipf 1.2."""
        default, zipf = (
            without_measured(result(hubbub_cli("simulate", *NAIVE, *SMALL, *options, "--json")))
            for options in ((), ("--zipf", "1.2"))
        )
        assert default == zipf

    def test_the_default_tail_fits_a_small_universe(self, hubbub_cli: Cli) -> None:
        """Without --tail the rest of a heavy crowd fits the universe, as the values of the other crowds do."""
        assert result(hubbub_cli("simulate", *NAIVE, *SMALL, "--heavy", "0.5", "--json"))["success_rate"] == 1

    def test_everyone_may_hold_one_value(self, hubbub_cli: Cli) -> None:
        """--heavy 1 is a crowd of one mind."""
        found = result(hubbub_cli("simulate", *JL, *SMALL, "--heavy", "1", "--json"))
        assert found["success_rate"] == 1

    @pytest.mark.parametrize(
        ("bits", "tail", "approximate"), [("32", "distinct", True), ("32", "50", False), ("16", "distinct", False)]
    )
    def test_only_pooled_singletons_are_approximate(
        self, hubbub_cli: Cli, bits: str, tail: str, approximate: bool
    ) -> None:
        """A tail of people alone on their values is marked as approximate where they are not listed one by one."""
        options = ("--bits", bits, "--heavy", "0.9", "--tail", tail, "--people", "5000", "--seed", "1")
        assert result(hubbub_cli("simulate", *BUCKET, *options, "--json"))["approximate"] is approximate
        assert ("approximate" in hubbub_cli("simulate", *BUCKET, *options).stdout) is approximate

    def test_a_distinct_tail_does_not_change_what_is_found(self, hubbub_cli: Cli) -> None:
        """The approximation agrees with the crowd in which everyone is listed, within the noise of both."""
        options = ("--heavy", "0.9", "--tail", "distinct", "--people", "20000", "--runs", "5", "--seed", "1", "--json")
        listed, pooled = (result(hubbub_cli("simulate", *BUCKET, "--bits", bits, *options)) for bits in ("24", "25"))
        assert (listed["approximate"], pooled["approximate"]) == (False, True)
        assert listed["success_rate"] == pooled["success_rate"] == 1
        assert pooled["bound"] == pytest.approx(listed["bound"], rel=0.05)

    @pytest.mark.parametrize("options", [BUCKET, EXPONENTIAL], ids=names)
    def test_a_share_of_nobody_is_no_success(self, hubbub_cli: Cli, options: tuple[str, ...]) -> None:
        """Where the heavy share rounds to nobody, finding a value that nobody holds is no success."""
        crowd = ("--bits", "32", "--people", "100", "--heavy", "0.001", "--tail", "distinct", "--seed", "1", "--json")
        run = hubbub_cli("simulate", *options, *crowd)
        assert run.returncode == 2 or result(run)["success_rate"] == 0


class TestLimits:
    """What is refused, and what to do instead."""

    def test_a_dense_projection_is_refused_beyond_its_limit(self, hubbub_cli: Cli) -> None:
        """Person by person more than 2e8 draws are refused, with the number and the way out."""
        options = ("--bits", "4", "--people", "2.1e8", "--epsilon", "0.1", "--seed", "1")
        message = refusal(hubbub_cli("simulate", *JL_DENSE, *options))
        assert "2e+08" in message
        assert "projection=hadamard" in message

    def test_a_small_tree_is_refused_beyond_its_limit(self, hubbub_cli: Cli) -> None:
        """In a small universe its sums are drawn person by person: the largest crowd is told, why, and what to do."""
        message = refusal(hubbub_cli("simulate", "-m", "tree", "--people", "1e9", "--bits", "4"))
        assert message == (
            "hubbub: people must be at most 200,000,000 for tree, whose sums are drawn person by person "
            "(2e+08 draws of noise at most), got people=1,000,000,000; simulate that many, and expect errors that grow "
            "with the square root of the people\n"
        )

    @pytest.mark.slow
    def test_a_tree_takes_a_billion_people(self, hubbub_cli: Cli) -> None:
        """What its decoder reads is drawn at once, and called approximate; what one in a hundred hold is found."""
        options = ("simulate", "-m", "tree", "-n", "1e9", "--bits", "40", "--heavy", "0.01", "--seed", "1")
        found = result(hubbub_cli(*options, "--json"))
        assert (found["successes"], found["approximate"]) == (1, True)
        assert 0 < found["max_error"] < found["bound"]

    def test_the_draws_of_every_row_count(self, hubbub_cli: Cli) -> None:
        """With Laplace noise a draw is made for each row of each person."""
        options = ("-o", "calibration=tight", "--bits", "8", "--people", "1e6", "--seed", "1")
        assert "2e+08" in refusal(hubbub_cli("simulate", *JL_DENSE, *options))

    def test_a_dense_matrix_of_too_many_signs_is_refused(self, hubbub_cli: Cli) -> None:
        """A dense decoder that would walk through more than 2^36 signs is refused."""
        message = refusal(hubbub_cli("simulate", *JL_DENSE, "--bits", "20", "--people", "1e6"))
        assert "2^36" in message

    def test_the_exponential_mechanism_has_no_options(self, hubbub_cli: Cli) -> None:
        """An option that does nothing is refused for the baseline as for every mechanism."""
        assert "'calibration'" in refusal(hubbub_cli("simulate", *EXPONENTIAL, *SMALL, "-o", "calibration=paper"))


class TestTable:
    """What people see."""

    def test_it_says_what_the_object_says(self, hubbub_cli: Cli) -> None:
        """The table has the crowd, the privacy, the successes, the errors and the bound."""
        options = ("simulate", *JL_TIGHT, *SMALL, "--runs", "2")
        found = result(hubbub_cli(*options, "--json"))
        run = hubbub_cli(*options)
        assert (run.returncode, run.stderr) == (0, "")
        for text in ("jl calibration=tight", "5,000 people, 2^8 values", "ε = 1, δ = 1e-06", "of 2 runs"):
            assert text in run.stdout
        for key in ("mean_error", "max_error", "bound"):
            assert f"{found[key]:,.0f}" in run.stdout

    @pytest.mark.slow
    def test_what_was_not_found_has_no_error(self, hubbub_cli: Cli) -> None:
        """Where no run finds the value, no error of the found value is shown; where some do, it says how many."""
        none = ("simulate", "-m", "tree", "-n", "300", "--bits", "32", "--runs", "2", "--seed", "1")
        shown = hubbub_cli(*none).stdout
        assert "0 of 2 runs" in shown
        assert "none: no run found it" in shown
        assert "mean error" not in shown
        some = ("simulate", *BUCKET, "-n", "2000", "--bits", "32", "--heavy", "0.5", "--runs", "8", "--seed", "1")
        found = result(hubbub_cli(*some, "--json"))
        assert 1 < found["successes"] < 8
        assert f"mean error of the found value ({found['successes']} runs)" in hubbub_cli(*some).stdout

    def test_one_is_one(self, hubbub_cli: Cli) -> None:
        """One run of one person is no plural."""
        shown = hubbub_cli("simulate", *EXPONENTIAL, "-n", "1", "--uniform", "--values", "1", "--seed", "1").stdout
        assert "1 person, 2^16 values, uniform over 1 value" in shown
        assert "of 1 run (" in shown

    def test_the_baseline_is_marked(self, hubbub_cli: Cli) -> None:
        """Whoever looks at the centralised baseline is told that it is not local."""
        assert "NOT local" in hubbub_cli("simulate", *EXPONENTIAL, *SMALL).stdout
        assert "NOT local" not in hubbub_cli("simulate", *JL, *SMALL).stdout

    @pytest.mark.parametrize(("mechanism", "kind"), [("tree", "normal"), ("subset", "normal"), ("jl", "theorem")])
    def test_a_bound_without_a_theorem_is_not_called_one(self, hubbub_cli: Cli, mechanism: str, kind: str) -> None:
        """A theorem's bound is named so; another is said to be a normal approximation."""
        options = ("simulate", "-m", mechanism, "-n", "1000", "--bits", "11", "--heavy", "0.5", "--seed", "1")
        assert json.loads(hubbub_cli(*options, "--json").stdout)["bound_kind"] == kind
        shown = hubbub_cli(*options).stdout
        assert ("theorem's error bound" in shown) == (kind == "theorem")
        assert ("error bound, no theorem" in shown and "normal approximation" in shown) == (kind == "normal")

    def test_the_theorem_is_judged(self, hubbub_cli: Cli) -> None:
        """For the Bucket mechanism the table says whether the condition of its theorem holds."""
        options = ("simulate", *BUCKET, "--bits", "16", "--heavy", "0.5", "--seed", "1")
        assert "nothing is promised" in hubbub_cli(*options, "--people", "5000").stdout
        assert "held: holds" in hubbub_cli(*options, "--people", "1e9", "--tail", "1e4").stdout
