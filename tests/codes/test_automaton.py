"""The automaton of a code says what the decoder says, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import text_code as twin

from hubbub.codes.automaton import DEAD, CodeAutomaton, build_automaton, open_shares
from hubbub.codes.table import MAX_BYTES
from hubbub.codes.text_code import TextCode

CODES = {name: TextCode(table) for name, table in twin.TABLES.items()}
AUTOMATA = {name: build_automaton(code) for name, code in CODES.items()}
EACH_CODE = pytest.mark.parametrize("name", sorted(twin.TABLES))


def nodes(automaton: CodeAutomaton, bits: str) -> list[int]:
    """The nodes of a walk after each bit, up to a dead end."""
    path, node = [], 0
    for bit in bits:
        node = int(automaton.next[node, int(bit)])
        path.append(node)
        if node == DEAD:
            break
    return path


@EACH_CODE
@given(text=st.binary(max_size=MAX_BYTES) | st.text("abcde.ions", max_size=MAX_BYTES).map(str.encode))
def test_a_code_is_accepted_at_its_end(name: str, text: bytes) -> None:
    """Walking a code reaches `done` at its last bit and not before; then zeros stay and a one is dead."""
    automaton = AUTOMATA[name]
    bits, length = CODES[name].encode(text)
    path = nodes(automaton, format(bits, f"0{length}b") + "0" * 7 + "1")
    assert [node == automaton.done for node in path] == [False] * (length - 1) + [True] * 8 + [False]
    assert path[-1] == DEAD


@pytest.mark.slow
@EACH_CODE
@given(bits=st.text("01", max_size=400))
def test_a_walk_equals_a_parse(name: str, bits: str) -> None:
    """On random bits the automaton accepts exactly where the slow parser ends, and what decodes is accepted."""
    automaton = AUTOMATA[name]
    path = nodes(automaton, bits)
    said = twin.parse(twin.TABLES[name], bits)
    ended = path.index(automaton.done) + 1 if automaton.done in path else None
    assert ended == (said[1] if said else None)
    if CODES[name].decode_padded(int("0" + bits, 2), len(bits)) is not None:
        assert path[-1] == automaton.done


@EACH_CODE
def test_open_shares_count_beginnings(name: str) -> None:
    """Of all strings of up to 10 bits, those after which the automaton is neither in `done` nor in a dead end."""
    automaton = AUTOMATA[name]
    for length, share in enumerate(open_shares(automaton, 10)):
        strings = [format(number, f"0{length}b") if length else "" for number in range(1 << length)]
        ended = sum(automaton.done in nodes(automaton, bits) for bits in strings)
        assert share == 1 - ended / (1 << length)


@EACH_CODE
def test_shape(name: str) -> None:
    """A tree per class and 585 shared nodes; every node but `done` goes on with both bits, and all can be reached."""
    code, automaton = CODES[name], AUTOMATA[name]
    assert automaton.next.dtype == np.int32
    assert automaton.next.shape == (len(code.code_words) * (len(code.symbols) - 1) + 585, 2)
    assert automaton.next[automaton.done].tolist() == [automaton.done, DEAD]
    assert (np.delete(automaton.next, automaton.done, axis=0) >= 0).all()
    reached = {0}
    fresh = {0}
    while fresh:
        fresh = {int(node) for node in automaton.next[sorted(fresh)].ravel()} - reached - {DEAD}
        reached |= fresh
    classes = {0} | {code.next_class[index] for index in range(1, code.first_end)}
    unused = (len(code.code_words) - len(classes)) * (len(code.symbols) - 1)
    assert len(reached) == len(automaton.next) - unused
