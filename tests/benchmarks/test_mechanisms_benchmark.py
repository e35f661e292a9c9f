from __future__ import annotations

import json
import math

import pytest

from benchmarks import mechanisms

pytestmark = pytest.mark.slow

TIMES = ("setup", "encode", "tally", "decode", "words", "numpy")


def in_process(name: str, **arguments: object) -> mechanisms.Row:
    """Run a job here, through JSON as a process of its own would."""
    return dict(json.loads(json.dumps(mechanisms.JOBS[name](**arguments))))


@pytest.mark.parametrize(
    ("case", "report_bytes", "cells"),
    [
        (mechanisms.Case(mechanisms.JL, 8, 300), 17, 256),
        (mechanisms.Case("naive-laplace", 4, 20), None, 16),
        (mechanisms.Case(mechanisms.BUCKET, 32, 300), 17, None),
        (mechanisms.Case("tree small", 24, 300), 17, None),
    ],
)
def test_a_case_has_every_number(case: mechanisms.Case, report_bytes: int | None, cells: int | None) -> None:
    """Sizes are the mechanism's own, times are positive, and a ratio is that of its two times."""
    row = in_process("measure", **case._asdict())
    assert (row["kind"], row["bits"], row["people"]) == case
    assert report_bytes is None or row["bytes_per_report"] == report_bytes
    assert cells is None or row["bytes_of_tally"] == 8 * cells
    times = (*TIMES, "transform") if case.kind == mechanisms.JL else TIMES
    assert all(row[f"{name}_ms"] > 0 and row[f"{name}_wall_ms"] > 0 for name in times)
    assert row["encode_ns_per_person"] == pytest.approx(1e6 * row["encode_ms"] / case.people)
    assert row["people_per_second"] == pytest.approx(1e9 / row["encode_ns_per_person"], rel=0.01)
    assert row["tally_ns_per_report"] == pytest.approx(1e6 * row["tally_ms"] / case.people)
    assert row["encode_over_words"] == pytest.approx(row["encode_ms"] / row["words_ms"])
    assert row["tally_over_numpy"] == pytest.approx(row["tally_ms"] / row["numpy_ms"])
    assert ("decode_over_transform" in row) == (case.kind == mechanisms.JL)
    assert 0 <= row["found"] <= 20
    assert 0 < row["reports_peak_mib"] <= row["decode_peak_mib"]


def test_noise_is_decoded_from_a_million_people() -> None:
    """Where few people encode, the value that half of a million hold is still there to be found."""
    row = in_process("measure", kind="naive-laplace", bits=8, people=10)
    assert (row["decoded_people"], row["found"]) == (1_000_000, 1)


@pytest.mark.parametrize("kind", mechanisms.ACCURACY_KINDS)
def test_measured_error_is_the_predicted_one(kind: str) -> None:
    """The error over all values is within a tenth of what the mechanism states, and not below the best."""
    row = mechanisms.accuracy(kind, people=100_000, epsilon="1", seeds=1)
    assert row["measured"] == pytest.approx(row["predicted"], rel=0.1)
    assert row["best"] == pytest.approx(math.sqrt(100_000) * 1.9190, rel=1e-3)
    assert row["measured_over_best"] > 1


def test_a_run_becomes_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case has its line, growth has exponents, and the numbers say what they were made with."""
    monkeypatch.setattr(mechanisms, "CROWDS", (1_000,))
    monkeypatch.setattr(mechanisms, "EPSILONS", ("1",))
    cases = [
        mechanisms.Case(mechanisms.JL, 8, 100),
        mechanisms.Case(mechanisms.JL, 10, 100),
        mechanisms.Case(mechanisms.BUCKET, 72, 100),
        mechanisms.Case(mechanisms.BUCKET, 96, 100),
    ]
    growth = [mechanisms.Case(mechanisms.JL, 8, 100), mechanisms.Case(mechanisms.JL, 8, 1_000)]
    results = mechanisms.collect(cases, growth, seeds=1, job=in_process)
    assert len(results["cases"]) == 4
    assert len(results["growth"]) == 2
    assert set(results["versions"]) == {"python", "numpy", "numba", "hubbub"}
    assert results["cpu"]["cores"] >= 1
    written = mechanisms.page({**results, "command": "the command"})
    headings = ("What is measured", "Time", "Bytes and memory", "Against a limit", "How cost grows", "Accuracy")
    assert all(f"\n## {heading}\n" in written for heading in headings)
    assert all(f"| {mechanisms.JL}, 2^{bits} |" in written for bits in (8, 10))
    assert f"- {mechanisms.JL}, 2^8, by people: encode **" in written
    assert "nan" not in written[written.index("## Time") :]


def test_numbers_have_three_digits() -> None:
    """Whole numbers keep all theirs."""
    shown = [mechanisms.cell(value) for value in (0.012345, 1.2345, 12345.6, 1234567, 0.0, "–")]
    assert shown == ["0.0123", "1.23", "12,346", "1,234,567", "0.0", "–"]


def test_a_power_law_is_fitted() -> None:
    """A cube has the exponent 3."""
    rows = [{"bits": size, "decode_ms": 7.0 * size**3} for size in (2, 4, 8)]
    assert mechanisms.slopes(rows, "bits", "decode") == "decode **3.00**"


def test_every_kind_is_compiled_before_it_is_timed() -> None:
    """The quick cases are kinds of the full ones, which the warm-up covers."""
    assert (
        {case.kind for case in mechanisms.QUICK} <= {case.kind for case in mechanisms.FULL} == set(mechanisms.WARM_UP)
    )
