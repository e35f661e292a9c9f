"""The guessing game: never above the truth, close below it, and lost by whoever tells too much."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from hubbub import Categories, Integers, ParameterError, SeededRandomWords, create_survey, mechanism_for
from hubbub.audit.certificate import audit, some_values
from hubbub.audit.exact import Fault
from hubbub.audit.game import check_fresh, fixed_id, of_command, play
from hubbub.audit.implementations import library
from hubbub.testing import public_seed

FEW = Categories(["red", "green", "blue"], other=False)


def game_of(name: str, domain: object, draws: int, claim: float = 1.0):
    """A game with the library's reports of a survey, drawn with a seed."""
    survey = create_survey("audit", domain, claim, mechanism=name, expected_reports=500, public_seed=public_seed(1))
    mechanism, values = mechanism_for(survey), some_values(survey)
    implementation = replace(library(survey, values), most_runs=30_000)
    worst = audit(implementation, mechanism, len(values), survey.epsilon).worst
    source = SeededRandomWords(20120402)
    return play(fixed_id(implementation, mechanism, worst, source), draws, source=source)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "domain"), [("tree", Integers(32)), ("subset", FEW), ("jl", Integers(6))])
def test_a_million_reports_show_the_loss_to_2_5_percent(name: str, domain: object) -> None:
    """An auditor without power proves nothing; one that is above the truth is wrong."""
    assert 0.975 < game_of(name, domain, 10**6).loss_at_least < 1


def response(chance: float, size: int = 1):
    """Randomised response, one byte, after noise of its own that says nothing; seeded."""
    rng = np.random.default_rng(7)

    def draw(which):
        told = which ^ (rng.random(len(which)) > chance)
        noise = rng.bytes((size - 1) * len(which))
        return [noise[at * (size - 1) : (at + 1) * (size - 1)] + bytes([each]) for at, each in enumerate(told.tolist())]

    return draw


@pytest.mark.parametrize("size", [1, 17])
def test_one_byte_is_found_among_noise(size: int) -> None:
    """The rule is learned: by the whole report if it is short, else by the byte that tells."""
    played = play(response(math.e / (1 + math.e), size), 20_000, source=SeededRandomWords(3))
    assert size == 1 or played.part == "byte 16"
    assert 0.85 < played.loss_at_least < 1


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(response(0.85), id="half the noise"),
        pytest.param(lambda which: [b"x" * (1 + each) for each in which.tolist()], id="length"),
        pytest.param(lambda which: [np.random.bytes(8) + bytes([each]) for each in which.tolist()], id="no noise"),  # noqa: NPY002
    ],
)
def test_whoever_tells_too_much_is_refuted(draw) -> None:
    """Each of these is above ε = 1 with a few thousand reports."""
    assert play(draw, 5_000, source=SeededRandomWords(3)).loss_at_least > 1


def papers_loop(which: np.ndarray) -> list[bytes]:
    """Noise that is drawn once for both rows of a report, as in the loop that the paper prints."""
    rng = np.random.default_rng(len(which))
    noise = rng.geometric(0.3, len(which)) - rng.geometric(0.3, len(which))
    rows = np.column_stack([1 + noise, 1 - 2 * which.astype(np.int64) + noise])
    return [bytes(each) for each in np.clip(rows + 128, 0, 255).astype(np.uint8)]


def seeded(which: np.ndarray) -> list[bytes]:
    """Noise of a seed that every run uses again."""
    lies = np.random.default_rng(7).random(len(which)) < 1 / (1 + math.e)
    return [bytes([each]) for each in (which ^ lies).tolist()]


STATE = np.random.default_rng(8)


def forked(which: np.ndarray) -> list[bytes]:
    """Children that begin with their parent's generator, which none of them moves on."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, bytes((which ^ (STATE.random(len(which)) < 1 / (1 + math.e))).tolist()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return [said[place : place + 1] for place in range(len(said))]


def test_noise_that_comes_twice_is_caught() -> None:
    """Noise shared by two rows loses the game; a seed that is used again, and a fork, fail the check `fresh`."""
    assert play(papers_loop, 5_000, source=SeededRandomWords(3)).loss_at_least > 2
    for draw in (seeded, forked):
        with pytest.raises(Fault) as caught:
            check_fresh(draw)
        assert caught.value.check == "fresh"


def test_reports_that_tell_nothing_win() -> None:
    """Where there is nothing to learn, nothing is claimed."""
    assert play(lambda which: [b"same"] * len(which), 2_000, source=SeededRandomWords(3)).loss_at_least == 0
    assert play(response(0.5), 2_000, source=SeededRandomWords(3)).loss_at_least < 0.3


def test_commands() -> None:
    """A program reads a value a line and prints a line for each; what breaks this is said."""
    flip = "import sys, secrets; [print(line.strip() if secrets.randbelow(4) else 'no') for line in sys.stdin]"
    draw = of_command(f'"{sys.executable}" -S -c "{flip}"', ["yes", "no"])
    check_fresh(draw)
    assert set(draw(np.array([0, 1] * 50, np.uint8))) == {b"yes", b"no"}
    with pytest.raises(Fault, match="must draw new noise"):
        check_fresh(of_command("cat", ["yes", "no"]))
    with pytest.raises(Fault, match="every value must have a report, got 0 for 2 values"):
        of_command("true", ["yes", "no"])(np.array([0, 1], np.uint8))
    for wrong in ("", "'", "no-such-program-at-all", "false"):
        with pytest.raises(ParameterError, match="command must"):
            of_command(wrong, ["yes", "no"])(np.array([0, 1], np.uint8))


def test_too_few_draws_are_refused() -> None:
    """With a handful of reports there is nothing to test."""
    with pytest.raises(ParameterError, match="draws must be at least 1,000, got 10"):
        play(response(0.5), 10)
