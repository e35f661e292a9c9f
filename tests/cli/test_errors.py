"""Bad input, interruptions and broken pipes: one sentence, the right exit code, nothing left, nothing private told."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from hubbub.cli.common import print_table

Cli = Callable[..., CompletedProcess[str]]
Start = Callable[..., "subprocess.Popen[str]"]

SECRET = "s3cretV4lue"  # noqa: S105  # what must never be told; it is in every data file below
LONG_SIMULATION = ("simulate", "-m", "bucket", "--bits", "32", "--people", "8000", "--runs", "20000", "--json")

FIND_ERRORS = {
    # The file.
    "no such file": ("find", "{folder}/missing.txt"),
    "a directory": ("find", "{folder}"),
    "an empty file": ("find", "{folder}/empty.txt"),
    "only empty lines": ("find", "{folder}/blank.txt"),
    "only a header": ("find", "{folder}/header.csv"),
    "not gzip": ("find", "{folder}/false.gz"),
    "gzip cut short": ("find", "{folder}/short.gz"),
    "not Parquet": ("find", "{folder}/false.parquet"),
    "a field too long": ("find", "{folder}/long.csv"),
    "a missing column": ("find", "{folder}/people.csv", "--column", "nope"),
    "no column chosen": ("find", "{folder}/people.csv"),
    "a missing person column": ("find", "{folder}/people.csv", "--column", "value", "--person", "nope"),
    "a column of a text": ("find", "{folder}/people.txt", "--column", "value"),
    "a person column of a text": ("find", "{folder}/people.txt", "--person", "who"),
    # Privacy.
    **{
        f"epsilon {epsilon}": ("find", "{folder}/people.txt", f"--epsilon={epsilon}")
        for epsilon in ("0", "-1", "-0", "nan", "inf", "-inf", "abc", "", "1e400", "1e-300", "0x1", "1/2", "1,5", "0\n")
    },
    **{
        f"delta {delta}": ("find", "{folder}/people.txt", f"--delta={delta}")
        for delta in ("0.5", "1", "-1", "nan", "inf", "abc", "", "1e-300", "0.5\n")
    },
    **{
        f"delta 0 with {calibration} noise of {mechanism}": (
            *("find", "{folder}/people.txt", "--domain", "integers:8", "-m", mechanism),
            *("--delta", "0", "-o", f"calibration={calibration}"),
        )
        for calibration in ("paper", "tight")
        for mechanism in ("jl", "bucket")
    },
    "noise that exact composition refuses": (
        *("find", "{folder}/people.txt", "--domain", "integers:8", "-m", "jl"),
        *("-o", "calibration=paper", "--epsilon", "8", "--delta", "1e-3"),
    ),
    # The mechanism and its options.
    "an unknown mechanism": ("find", "{folder}/people.txt", "-m", "nope"),
    "an empty mechanism": ("find", "{folder}/people.txt", "-m", ""),
    "a mechanism in capitals": ("find", "{folder}/people.txt", "-m", "JL"),
    "the baseline, which is not local": ("find", "{folder}/people.txt", "-m", "exponential"),
    "jl with too large a domain": ("find", "{folder}/people.txt", "-m", "jl", "--domain", "bytes:32"),
    "jl with a domain one bit too large": ("find", "{folder}/people.txt", "-m", "jl", "--domain", "integers:25"),
    "naive-laplace with too large a domain": (
        *("find", "{folder}/people.txt", "-m", "naive-laplace"),
        *("--domain", "integers:17"),
    ),
    **{
        f"option {' '.join(options)}": (
            *("find", "{folder}/people.txt", "-m", "bucket"),
            *(word for option in options for word in ("-o", option)),
        )
        for options in (
            ("nope=1",),
            ("calibratoin=paper",),
            ("Calibration=paper",),
            ("projection=dense",),  # an option of another mechanism
            ("calibration=nope",),
            ("calibration=",),
            ("calibration",),
            ("=paper",),
            ("",),
            ("calibration=paper", "calibration=paper"),
            ("beta=0.1", "decoder=soft", "beta=0.2"),
            ("beta=0",),
            ("beta=1",),
            ("beta=2",),
            ("beta=-1",),
            ("beta=nan",),
            ("beta=inf",),
            ("beta=abc",),
            ("beta=1e-60",),
            ("beta=1e-400",),
        )
    },
    # The domain.
    **{
        f"domain {domain}": ("find", "{folder}/people.txt", "--domain", domain)
        for domain in (
            *("integers:0", "integers:513", "integers:", "integers", "integers:-1", "integers:8.0", "integers:1e3"),
            *(
                "integers: 8",
                "integers:99999999999",
                "bytes:0",
                "bytes:65",
                "bytes:",
                "bytes:abc",
                "text:",
                "text:32",
                "choices",
                "choices:",
                "choices:a",
                "choices:a,,b",
                "choices:a,a",
                "foo:3",
                "",
                ":",
                ":8",
            ),
            *("INTEGERS:8", "categories", "categories:"),
        )
    },
    "no file of names": ("find", "{folder}/people.txt", "--domain", "categories:{folder}/missing.txt"),
    "a directory of names": ("find", "{folder}/people.txt", "--domain", "categories:{folder}"),
    "an empty file of names": ("find", "{folder}/people.txt", "--domain", "categories:{folder}/empty.txt"),
    "a file of empty names": ("find", "{folder}/people.txt", "--domain", "categories:{folder}/blank.txt"),
    "names with the reserved one": ("find", "{folder}/people.txt", "--domain", "categories:{folder}/reserved.txt"),
}

SIMULATE_ERRORS = {
    **{
        f"people {people}": ("--people", people)
        for people in (
            *("0", "-5", "1.5", "abc", "1e20", "", " ", "nan", "inf", "1e16", "0.5", "m", "1kk", "0x10", "1e999999999"),
            *("1e-999999999", "1e99999999999999999999", "9" * 50),
        )
    },
    **{f"heavy {heavy}": ("--people", "100", "--heavy", heavy) for heavy in ("0", "1.5", "-0.5", "nan", "inf")},
    **{f"zipf {zipf}": ("--people", "100", "--zipf", zipf) for zipf in ("-1", "nan", "inf")},
    **{
        f"tail {tail}": ("--people", "100", "--heavy", "0.5", "--tail", tail)
        for tail in ("0", "abc", "-1", "", "1.5", "65536", "1e12")
    },
    "more people alone than values": ("--people", "1e6", "--heavy", "0.5", "--tail", "distinct"),
    "zipf and heavy": ("--people", "100", "--zipf", "1", "--heavy", "0.5"),
    "zipf and uniform": ("--people", "100", "--zipf", "1", "--uniform"),
    "heavy and uniform": ("--people", "100", "--heavy", "0.5", "--uniform"),
    "all crowds": ("--people", "100", "--heavy", "0.5", "--uniform", "--zipf", "1"),
    **{
        f"values {values}": ("--people", "100", "--values", values)
        for values in ("0", "-1", "abc", "65536", "70000", "1e15")
    },
    "more values than the universe, equally often": ("--people", "100", "--uniform", "--values", "65536"),
    "epsilon 0": ("--people", "100", "--epsilon", "0"),
    "epsilon nan": ("--people", "100", "--epsilon", "nan"),
    "delta 0.5": ("--people", "100", "--delta", "0.5"),
    "delta 0 with noise": ("--people", "100", "--delta", "0", "-o", "calibration=tight"),
    "noise that exact composition refuses": (
        *("--people", "100", "-o", "calibration=paper"),
        *("--epsilon", "8", "--delta", "1e-3"),
    ),
    "too many bits for jl": ("--people", "100", "--bits", "25"),
    "too many bits for naive-laplace": ("-m", "naive-laplace", "--people", "100", "--bits", "17"),
    "an unknown mechanism": ("-m", "nope", "--people", "100"),
    "an unknown option": ("--people", "100", "-o", "nope=1"),
    "an option twice": ("--people", "100", "-o", "calibration=tight", "-o", "calibration=tight"),
    "an option without a value": ("--people", "100", "-o", "calibration"),
    "beta 0": ("-m", "bucket", "--people", "100", "-o", "beta=0"),
    "beta 2": ("-m", "bucket", "--people", "100", "-o", "beta=2"),
    "noise too large for its sums": ("-m", "naive-laplace", "--people", "1e15", "--epsilon", "1e-5"),
    "noise too large for its digits": ("-m", "naive-laplace", "--people", "100", "--epsilon", "1e-9"),
    "epsilon 0 of the baseline": ("-m", "exponential", "--people", "100", "--epsilon", "0"),
    "delta 0.5 of the baseline": ("-m", "exponential", "--people", "100", "--delta", "0.5"),
}

USAGE_ERRORS = {
    "no such command": ("nope",),
    "no such option": ("find", "{folder}/people.txt", "--nope"),
    "no file": ("find",),
    "two files": ("find", "{folder}/people.txt", "{folder}/people.txt"),
    "an option without its value": ("find", "{folder}/people.txt", "--epsilon"),
    "top 0": ("find", "{folder}/people.txt", "--top", "0"),
    "top abc": ("find", "{folder}/people.txt", "--top", "abc"),
    "seed -1": ("find", "{folder}/people.txt", "--seed", "-1"),
    "no mechanism": ("simulate", "--people", "100"),
    "no people": ("simulate", "-m", "jl"),
    "runs 0": ("simulate", "-m", "jl", "--people", "100", "--runs", "0"),
    "bits 0": ("simulate", "-m", "jl", "--people", "100", "--bits", "0"),
    "bits 513": ("simulate", "-m", "bucket", "--people", "100", "--bits", "513"),
    "heavy abc": ("simulate", "-m", "jl", "--people", "100", "--heavy", "abc"),
    "an argument too many": ("mechanisms", "jl"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data files that all hold the secret, and files of names."""
    folder = tmp_path_factory.mktemp("data")
    people = f"{SECRET}\n" * 40
    files = {
        "people.txt": people,
        "people.csv": f"who,value\nme,{SECRET}\nyou,{SECRET}\n",
        "false.gz": people,
        "false.parquet": people,
        "long.csv": f"value\n{SECRET * 20_000}\n",
        "empty.txt": "",
        "blank.txt": "\n\n\r\n",
        "header.csv": "value\n",
        "reserved.txt": "red\n(other)\n",
    }
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    (folder / "short.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + SECRET.encode())
    return folder


def filled(words: tuple[str, ...], folder: Path) -> list[str]:
    """The words of a command with the folder in its place."""
    return [word.replace("{folder}", str(folder)) for word in words]


def check_refusal(run: CompletedProcess[str]) -> None:
    """Exit code 2, one sentence on stderr, nothing on stdout, no traceback and nothing private."""
    assert SECRET not in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    assert (run.returncode, run.stdout) == (2, "")
    lines = run.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("hubbub: ")
    assert len(lines[0]) < 500
    assert lines[0].isprintable()


class TestBadInput:
    """One sentence and exit code 2."""

    @pytest.mark.parametrize("name", FIND_ERRORS)
    def test_find(self, hubbub_cli: Cli, folder: Path, name: str) -> None:
        """Whatever is wrong with a job for `hubbub find`, it is said in one sentence that tells nothing private."""
        run = hubbub_cli(*filled(FIND_ERRORS[name], folder))
        check_refusal(run)
        # It is refused for its own reason, and not for something else that is wrong with it.
        subjects = ("exact composition", "beta", "epsilon", "delta", "mechanism")
        assert next((subject for subject in subjects if subject in name), "") in run.stderr
        assert "has size, got option" not in run.stderr  # options are those of the mechanism that was chosen

    @pytest.mark.parametrize("words", SIMULATE_ERRORS.values(), ids=SIMULATE_ERRORS)
    def test_simulate(self, hubbub_cli: Cli, words: tuple[str, ...]) -> None:
        """Whatever is wrong with a job for `hubbub simulate`, it is said in one sentence."""
        check_refusal(hubbub_cli("simulate", *(() if "-m" in words else ("-m", "jl")), *words))

    @pytest.mark.parametrize("people", ["0", "-1", "1.5", "abc", "1e20"])
    def test_demo(self, hubbub_cli: Cli, people: str) -> None:
        """A demo of an impossible crowd is refused before anything is printed."""
        check_refusal(hubbub_cli("demo", "--people", people))

    def test_demo_with_an_impossible_epsilon(self, hubbub_cli: Cli) -> None:
        """An epsilon that cannot be is refused before the demo begins."""
        check_refusal(hubbub_cli("demo", "--people", "100", "--epsilon", "0"))

    @pytest.mark.parametrize("words", USAGE_ERRORS.values(), ids=USAGE_ERRORS)
    def test_usage(self, hubbub_cli: Cli, folder: Path, words: tuple[str, ...]) -> None:
        """A wrong call is one sentence, too, which says where the help is."""
        run = hubbub_cli(*filled(words, folder))
        check_refusal(run)
        place = "hubbub" if words == ("nope",) else f"hubbub {words[0]}"
        assert run.stderr.endswith(f"; see {place} --help\n")

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("find", "x", "--top", "0"), "--top must be a whole number of at least 1, got '0'"),
            (("find", "x", "--top", "abc"), "--top must be a whole number of at least 1, got 'abc'"),
            (("find", "x", "--level", "abc"), "--level must be a number from 0 to 1, got 'abc'"),
            (("find",), "missing argument 'FILE|-'"),
            (("find", "x", "--plot"), "option '--plot' requires an argument"),
            (("survey", "nope"), "no such command 'nope'"),
        ],
    )
    def test_usage_in_words(self, hubbub_cli: Cli, words: tuple[str, ...], said: str) -> None:
        """The sentence has the rule, the name and what was given."""
        assert hubbub_cli(*words).stderr == f"hubbub: {said}; see hubbub {words[0]} --help\n"

    def test_an_empty_standard_input(self, hubbub_cli: Cli) -> None:
        """Nobody on standard input is refused like an empty file."""
        check_refusal(hubbub_cli("find", "-", stdin=""))

    def test_exact_composition_names_what_it_found(self, hubbub_cli: Cli) -> None:
        """The refusal of the paper's noise tells the delta that it really has, which is above the stated one."""
        options = ("--epsilon", "8", "--delta", "1e-3", "-o", "calibration=paper", "--people", "100")
        run = hubbub_cli("simulate", "-m", "jl", *options)
        check_refusal(run)
        executed = re.search(r"got delta=([0-9.]+) at epsilon=8", run.stderr)
        assert executed is not None
        assert float(executed[1]) > 1e-3

    @pytest.mark.parametrize("name", ["people.txt", "people.csv"])
    def test_the_name_of_a_file_cannot_forge_a_line(self, hubbub_cli: Cli, tmp_path: Path, name: str) -> None:
        """A file name with line ends and escapes is quoted, so that a message stays one printable line."""
        check_refusal(hubbub_cli("find", tmp_path / f"no\nsuch\x1b[31m{name}"))


class TestProcess:
    """The same as processes of their own."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["no such file", "a missing column", "epsilon nan", "jl with too large a domain", "option beta=2"]
    )
    def test_bad_input(self, hubbub_process: Cli, folder: Path, name: str) -> None:
        """A failing process leaves one line on stderr, exit code 2 and no traceback."""
        check_refusal(hubbub_process(*filled(FIND_ERRORS[name], folder)))

    def test_usage(self, hubbub_process: Cli) -> None:
        """A wrong call exits with 2 and one sentence."""
        check_refusal(hubbub_process("simulate", "-m", "jl", "--people", "100", "--runs", "0"))

    @pytest.mark.parametrize(
        "words",
        [
            ("mechanisms",),
            ("mechanisms", "--json"),
            pytest.param(("plan", "-n", "8k", "-e", "1", "--domain", "integers:8"), marks=pytest.mark.slow),
            pytest.param(("simulate", "-m", "jl", "-n", "9"), marks=pytest.mark.slow),
        ],
        ids=" ".join,
    )
    def test_a_reader_that_leaves(self, start_hubbub: Start, words: tuple[str, ...]) -> None:
        """Output into a pipe that nobody reads ends the process without a word, and is no failure."""
        reading, writing = os.pipe()
        os.close(reading)
        process = start_hubbub(*words, stdout=writing)
        os.close(writing)
        _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (0, "")

    def test_a_reader_that_leaves_before_a_grid(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same after the title: rich, which makes the grid, would end the process itself, with exit code 1."""

        class OneLine(io.StringIO):
            def write(self, text: str) -> int:
                if "grid" in text:
                    raise BrokenPipeError
                return super().write(text)

        monkeypatch.setattr(sys, "stdout", OneLine())
        with pytest.raises(BrokenPipeError):
            print_table("title", [("grid", "left")], [["cell"]])

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
    @pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
    def test_a_full_disk(self, start_hubbub: Start, options: tuple[str, ...]) -> None:
        """Output that cannot be written is a failure in one sentence."""
        with open("/dev/full", "w") as full:
            process = start_hubbub("mechanisms", *options, stdout=full.fileno())
        _, stderr = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "Traceback" not in stderr
        assert len(stderr.splitlines()) == 1

    def test_a_terminal_without_unicode(self, hubbub_process: Cli) -> None:
        """Where the output is ASCII the signs are replaced, and nothing fails."""
        run = hubbub_process("mechanisms", env={"PYTHONIOENCODING": "ascii"})
        assert "Traceback" not in run.stderr
        assert run.returncode == 0
        assert "naive-laplace" in run.stdout

    @pytest.mark.slow
    def test_no_standard_input_at_all(self) -> None:
        """A closed standard input is refused like an empty one."""
        words = [sys.executable, "-m", "hubbub", "find", "-"]
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True, timeout=60, check=False
        )
        check_refusal(closed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("plan", "-n", "8k", "-e", "1", "--domain", "bytes:0"),
            "domain bytes:NUMBER must have a number from 1 to 64, got domain='bytes:0'",
        ),
        (
            ("plan", "-n", "8k", "-e", "1", "--domain", "integers:513"),
            "domain integers:NUMBER must have a number from 1 to 512, got domain='integers:513'",
        ),
        (
            ("simulate", "-m", "foo", "-n", "100"),
            "mechanism must be one of tree, subset, jl, bucket, glps, naive-laplace, exponential, got mechanism='foo'",
        ),
    ],
)
def test_a_refusal_speaks_of_what_was_typed(hubbub_cli: Cli, words: tuple[str, ...], said: str) -> None:
    """By the names that the command line has, and with everything that it takes."""
    run = hubbub_cli(*words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"hubbub: {said}\n")


@pytest.mark.slow
class TestInterruption:
    """Ctrl-C: exit code 130, no traceback, nothing half-written, nothing left."""

    def watched(
        self, start_hubbub: Start, words: tuple[object, ...], until: bytes, **files: int
    ) -> tuple[subprocess.Popen[str], int, bytes]:
        """Start a job with a terminal for stderr, and wait until its progress bar has come so far."""
        leader, follower = pty.openpty()
        process = start_hubbub(*words, stderr=follower, env={"COLUMNS": "100"}, **files)
        os.close(follower)
        seen = b""
        while not re.search(until, seen):
            assert select.select([leader], [], [], 60)[0], "no progress for a minute"
            seen += os.read(leader, 4096)
        return process, leader, seen

    def interrupted(self, process: subprocess.Popen[str], leader: int, seen: bytes) -> tuple[str, str]:
        """Interrupt the job; returns its stdout and all that the terminal got."""
        process.send_signal(signal.SIGINT)
        try:
            while part := os.read(leader, 4096):
                seen += part
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(leader)
        stdout, _ = process.communicate(timeout=60)
        return stdout, seen.decode()

    def check(self, returncode: int, stdout: str, stderr: str, temporary: Path) -> None:
        """What every interruption leaves."""
        assert "Traceback" not in stderr
        assert "KeyboardInterrupt" not in stderr
        assert (returncode, stdout) == (130, "")
        assert list(temporary.iterdir()) == []

    def test_simulate(self, start_hubbub: Start, temporary: Path) -> None:
        """In the middle of a long simulation, after some runs, Ctrl-C ends it at once."""
        process, *terminal = self.watched(start_hubbub, LONG_SIMULATION, rb"[1-9]\d*/20000")
        stdout, stderr = self.interrupted(process, *terminal)
        self.check(process.returncode, stdout, stderr, temporary)
        assert stderr.rstrip().endswith("hubbub: interrupted")
        assert stderr.count("\x1b[?25l") == stderr.count("\x1b[?25h")  # the cursor is back

    def test_find(self, start_hubbub: Start, temporary: Path, tmp_path: Path) -> None:
        """In the middle of a survey over standard input Ctrl-C ends it, and what was spooled is gone."""
        data = tmp_path / "people.txt"
        data.write_text("x\n" * 2_000_000)
        with data.open() as stdin:
            words = ("find", "-", "--domain", "integers:8", "--json")
            process, *terminal = self.watched(start_hubbub, words, b"Reporting", stdin=stdin.fileno())
        assert len(list(temporary.iterdir())) == 1
        stdout, stderr = self.interrupted(process, *terminal)
        self.check(process.returncode, stdout, stderr, temporary)

    def reading(self, start_hubbub: Start, temporary: Path) -> subprocess.Popen[str]:
        """A job that has read and spooled a part of its standard input and waits for the rest."""
        process = start_hubbub("find", "-", stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write("x\n" * 500_000)  # more than any pipe holds: it is being read
        process.stdin.flush()
        assert len(list(temporary.iterdir())) == 1
        return process

    def test_while_reading(self, start_hubbub: Start, temporary: Path) -> None:
        """While standard input is still coming Ctrl-C ends the job too."""
        process = self.reading(start_hubbub, temporary)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)  # which ends its input, as Ctrl-C ends whoever writes it
        self.check(process.returncode, stdout, stderr, temporary)
        assert stderr == "hubbub: interrupted\n"

    def test_a_termination_leaves_no_values_behind(self, start_hubbub: Start, temporary: Path) -> None:
        """Whoever ends a job politely, as `timeout` and a service manager do, leaves nobody's values on the disk."""
        process = self.reading(start_hubbub, temporary)
        process.terminate()
        _, stderr = process.communicate(timeout=60)
        assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM)
        assert "Traceback" not in stderr
        assert [path for path in temporary.rglob("*") if path.is_file()] == []

    @pytest.mark.slow
    def test_demo(self, start_hubbub: Start, temporary: Path) -> None:
        """A demo that is interrupted removes its made-up visitors."""
        process = start_hubbub("demo", "--people", "1m")
        assert process.stdout is not None
        assert "1,000,000 visitors" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (130, "hubbub: interrupted\n")
        assert list(temporary.iterdir()) == []

    def test_while_starting(self, start_hubbub: Start, temporary: Path) -> None:
        """While the program is still being loaded Ctrl-C is as quiet as later."""
        process = start_hubbub(*LONG_SIMULATION, python=("-X", "importtime"))
        assert process.stderr is not None
        for line in process.stderr:
            if line.rstrip().endswith(" hubbub.errors"):
                break
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert "Traceback" not in stderr
        assert process.returncode == 130
        assert list(temporary.iterdir()) == []

    def test_within_code_made_of_text(self, start_hubbub: Start, tmp_path: Path) -> None:
        """Ctrl-C while a library runs exec() on a text, as dataclasses do: code 130 all the same, not a signal's death.

        The library is a finder of modules that interrupts its own process when the command line is looked for.
        """
        (tmp_path / "sitecustomize.py").write_text(
            "import sys\n"
            "class Finder:\n"
            "    def find_spec(name, path, target=None):\n"
            "        if name == 'hubbub.cli.main':\n"
            "            exec('import os, signal; os.kill(os.getpid(), signal.SIGINT); signal.pause()')\n"
            "sys.meta_path.insert(0, Finder)\n"
        )
        paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        process = start_hubbub("mechanisms", env={"PYTHONPATH": paths})
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout, stderr) == (130, "", "")


def test_a_closed_standard_output_is_said() -> None:
    """One sentence and code 2, no traceback."""
    command = f"{shlex.quote(sys.executable)} -m hubbub mechanisms >&-"  # only a shell closes a stream
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "hubbub: standard output must be open, got a closed one.\n"
