"""Kernels are compiled once, and it is known whether they are."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hubbub.jit import is_compiled

pytestmark = pytest.mark.slow

LOOPS = "from hubbub.jit import kernel\n\n\n@kernel\ndef twice(x):\n    return 2 * x\n"
ONE_OF_EACH = """
from numba.core.dispatcher import Dispatcher
from hubbub import Hostnames, Integers, find
from hubbub.codes import kernels as code_kernels
from hubbub.mechanisms.tree import kernels, kernels_paths, kernels_reports
from hubbub.numeric import bulk_items, hadamard, hashing

find([n % 9 for n in range(300)], domain=Integers(64), epsilon=2, seed=1)
find([f"host{n % 9}.example.org" for n in range(3000)], domain=Hostnames(), epsilon=6, seed=1, candidates=["a.org"])
for module in (bulk_items, code_kernels, hadamard, hashing, kernels, kernels_paths, kernels_reports):
    for name, function in vars(module).items():
        if isinstance(function, Dispatcher) and function.stats.cache_path:
            print(len(function.signatures), module.__name__, name)
"""


def test_it_is_known_whether_a_kernel_is_compiled(tmp_path: Path) -> None:
    """Not before its first call, and after it from then on."""
    source = tmp_path / "loops.py"
    source.write_text(LOOPS)
    spec = importlib.util.spec_from_file_location("loops", source)
    assert spec is not None
    assert spec.loader is not None
    loops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loops)
    assert not is_compiled(loops.twice)
    assert loops.twice(3) == 6
    assert is_compiled(loops.twice)


def test_every_kernel_is_compiled_for_one_combination_of_types() -> None:
    """Numbers and texts alike: each further combination would cost its users a second."""
    done = subprocess.run([sys.executable, "-c", ONE_OF_EACH], capture_output=True, text=True, check=True)
    counts = dict(line.split(maxsplit=1)[::-1] for line in done.stdout.splitlines())
    assert len(counts) > 10
    assert {name: count for name, count in counts.items() if int(count) > 1} == {}


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}, ""),  # a place that nobody can have
        ({"NUMBA_CACHE_DIR": "cache"}, "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "),
    ],
    ids=["no place", "full disk"],
)
def test_kernels_need_no_disk(tmp_path: Path, settings: dict[str, str], limit: str) -> None:
    """Where nothing can be kept they are compiled, used, and known not to be on disk."""
    (tmp_path / "loops.py").write_text(LOOPS)
    code = f"{limit}from hubbub.jit import is_compiled; from loops import twice; print(twice(3), is_compiled(twice))"
    environment = {**os.environ, **settings}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "6 False\n")


@pytest.mark.parametrize("damage", [b"", b"no pickle", None], ids=["empty", "other", "half"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_what_is_kept_may_be_damaged(tmp_path: Path, kind: str, damage: bytes | None) -> None:
    """The kernel is compiled again, and kept again."""
    (tmp_path / "loops.py").write_text(LOOPS)
    code = "from loops import twice; print(twice(3), sum(twice.stats.cache_hits.values()))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for number in range(4):
        if number == 2:
            (file,) = (tmp_path / "cache").rglob(f"*.{kind}")
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if damage is None else damage)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        said.append(done.stdout.split())
    assert said == [["6", "0"], ["6", "1"], ["6", "0"], ["6", "1"]]


def test_the_command_line_says_that_it_compiles(tmp_path: Path) -> None:
    """One line on stderr where nothing was kept on disk."""
    code = (
        "import sys; from hubbub import Integers, create_survey, mechanism_for; "
        "from hubbub.cli.common import say_if_compiling as say; "
        "tree, jl = (mechanism_for(create_survey('any', Integers(64 if name == 'tree' else 8), 1, mechanism=name)) "
        "for name in ('tree', 'jl')); "
        "say(tree); "  # no terminal, no line
        "sys.stderr.isatty = lambda: True; say(tree); say(jl)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == "hubbub: compiling once, about 12 s\n"
