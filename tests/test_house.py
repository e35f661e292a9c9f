"""Rules of the house that no linter has: tests use what is public, modules are short and do not import in circles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from tests.conftest import TOGETHER

ROOT = Path(__file__).parent.parent
LONGEST = 400  # lines of a module
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}  # of named tuples and os: documented, despite their names
PRIVATE = re.compile(r"_[a-z]\w*(?<!_)")  # _repr_html_ and its like are a protocol of notebooks


def private_uses(source: str) -> Iterator[str]:
    """Private names of others that some code touches: as attributes, imports, or names given to a call."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call):
            names = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        yield from (f"line {node.lineno}: {name}" for name in names if PRIVATE.fullmatch(name) and name not in PUBLIC)


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "tools"])
def test_nobody_touches_what_is_private(folder: str) -> None:
    """Tests, benchmarks and tools go through public names, so that what is private can change."""
    found = {
        f"{path.relative_to(ROOT)}, {use}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for use in private_uses(path.read_text(encoding="utf-8"))
    }
    assert not found


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("thing._inner", ["line 1: _inner"]),
        ("self.thing._inner()", ["line 1: _inner"]),
        ("from hubbub.cli.main import _load", ["line 1: _load"]),
        ("monkeypatch.setattr(thing, '_inner', 1)", ["line 1: _inner"]),
        ("self._own, cls._own, row._replace(a=1), thing.__doc__, '_word'", []),
    ],
)
def test_private_names_are_seen(source: str, uses: list[str]) -> None:
    """What the rule forbids is found, and what it allows is not."""
    assert list(private_uses(source)) == uses


def test_no_module_is_too_long() -> None:
    """A module of the library is read in one sitting."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > LONGEST} == {}


def test_no_modules_import_each_other() -> None:
    """No module is imported back by one that it imports, not even inside of a function."""
    graph = grimp.build_graph("hubbub", exclude_type_checking_imports=True, cache_dir=None)
    circles = {
        (module, other)
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
        if graph.chain_exists(importer=other, imported=module)
    }
    assert circles == set()


def test_what_tests_share_is_there() -> None:
    """A fixture that is renamed here would be made by every worker again, and nobody would see why tests take long."""
    for file, fixtures in TOGETHER.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert all(f"def {name}(" in text for name in fixtures), file


# Who may hold a mechanism in all its roles at once. Everybody else takes the role that it needs, so that a collector
# cannot decode and an analyst cannot report, by the types that mypy checks.
ALL_ROLES = {"audit", "finding", "paper", "simulation", "testing", "mechanisms"} | {
    "analysis.outlook",  # hands out what it has built, for plans of several kinds
    "analysis.protocol",  # plays all roles, on one screen
    "store.store",  # keeps each survey's mechanism, for everybody who asks
}


def test_callers_take_the_narrow_role() -> None:
    """A module that does not play several roles imports no type that has them all."""
    holders = {
        ".".join(path.relative_to(ROOT / "src/hubbub").with_suffix("").parts)
        for path in (ROOT / "src/hubbub").rglob("*.py")
        if re.search(r"import .*\bSurveyMechanism\b", path.read_text(encoding="utf-8"))
    }
    allowed = {each for each in holders if each in ALL_ROLES or each.partition(".")[0] in ALL_ROLES}
    assert holders - allowed == set()
    assert {each for each in ALL_ROLES if not any(f"{one}.".startswith(f"{each}.") for one in holders)} == set()
