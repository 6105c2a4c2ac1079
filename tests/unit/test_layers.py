"""The dependency rule of docs/architecture.md: import only downwards; minercdc and its sandbox import nothing of each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from sandbox.tests.unit.test_imports import cycle_of, names_of

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
SANDBOX = ROOT / "sandbox" / "src"

# What each package or module of the top level imports of the others; in the order of docs/architecture.md, lowest first.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "web": set(),
    "schema": {"errors"},
    "local": {"errors", "web"},
    "values": {"errors", "schema"},
    "stream": {"errors", "schema"},
    "native": {"errors", "schema", "stream", "values"},
    "config": {"errors", "schema", "values"},
    "oracle": {"errors", "schema", "values", "stream", "native", "config"},
    "capture": {"errors", "schema", "values", "stream", "native", "config", "oracle"},
    "snapshot": {"errors", "schema", "values", "stream", "native", "config", "oracle"},
    "messages": {"errors", "web", "schema", "values", "stream", "native", "config", "oracle"},
    "observe": {"errors", "web", "stream", "config", "oracle", "messages"},
    "sinks": {"errors", "schema", "stream", "native", "config", "oracle", "messages"},
}
_PARTS = {"errors", "schema", "values", "stream", "native", "config", "oracle", "capture", "snapshot", "messages", "sinks"}
ALLOWED["signals"] = _PARTS
ALLOWED["pipeline"] = _PARTS | {"web", "signals", "observe"}
ALLOWED["relay"] = (_PARTS - {"native"}) | {"observe", "pipeline"}
ALLOWED["lake"] = _PARTS | {"local", "relay"}
ALLOWED["operate"] = _PARTS | {"web", "signals", "observe", "pipeline", "lake"}
ALLOWED["cli"] = (_PARTS - {"snapshot"}) | {"local", "signals", "observe", "pipeline", "relay", "lake", "operate"}
ALLOWED["__main__"] = {"cli"}
# What users import; nothing of the product imports them.
ALLOWED["extension"] = {"schema", "stream", "config", "oracle", "capture", "messages", "sinks"}
ALLOWED["__init__"] = {"errors", "schema", "values", "config", "snapshot", "pipeline", "relay", "lake", "operate"}
_DOORS = {"__init__", "extension"}


@dataclass
class Source:
    """What the rules ask of a file, found in one walk.

    :ivar imports: names and lines.
    :ivar names: what is imported, as `names_of` has it.
    :ivar many_parameters: functions with more than MOST_PARAMETERS, `self` and `cls` apart; those of a class with its name.
    :ivar unpacked: lines of calls with an argument such as `*(a, b)`, `*[a, b]` or `**{"a": b}`.
    """

    imports: list[tuple[str, int]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    many_parameters: set[str] = field(default_factory=set)
    unpacked: list[int] = field(default_factory=list)


@cache
def source(path: Path) -> Source:
    """Each file is parsed once for all tests, and no tree is kept."""
    found, tree = Source(), ast.parse(path.read_text())
    classes: dict[int, str] = {}
    for node in ast.walk(tree):  # a class comes before what is in it
        found.names += names_of(node)
        match node:
            case ast.ImportFrom():
                assert not node.level, f"{path}:{node.lineno}: absolute imports only, one spelling"
                whole = node.module == "minercdc"
                names = [f"minercdc.{alias.name}" for alias in node.names] if whole else [node.module or ""]
                found.imports += [(name, node.lineno) for name in names]
            case ast.Import():
                found.imports += [(alias.name, node.lineno) for alias in node.names]
            case ast.ClassDef():
                classes.update((id(one), f"{node.name}.") for one in node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                if _parameters(node) > MOST_PARAMETERS:
                    name = "lambda" if isinstance(node, ast.Lambda) else node.name
                    found.many_parameters.add(f"{classes.get(id(node), '')}{name}")
            case ast.Call():
                stars = [one.value for one in node.args if isinstance(one, ast.Starred)]
                stars += [one.value for one in node.keywords if one.arg is None]
                if any(map(_is_written_out, stars)):
                    found.unpacked.append(node.lineno)
    return found


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    return len([one for one in every if one and one.arg not in ("self", "cls")])


def _is_written_out(node: ast.expr) -> bool:
    if isinstance(node, ast.Dict):
        return None not in node.keys
    return isinstance(node, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in node.elts)


def imported_units(path: Path) -> Iterator[tuple[str, int]]:
    for name, line in source(path).imports:
        package, _, unit = name.partition(".")
        if package == "minercdc":
            yield "__init__" if unit in ("", "__version__") else unit.split(".")[0], line


def compiled_units(path: Path) -> Iterator[tuple[str, int]]:
    """As `imported_units`, of a module in Cython, which `ast` does not read."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.match(r"\s*(?:from|import) minercdc\.(\w+)", line):
            yield found[1], number


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyx"), *root.rglob("*.pxi")]):
        here = path.relative_to(root).parts[0].removesuffix(".py")
        for there, line in imported_units(path) if path.suffix == ".py" else compiled_units(path):
            if there != here and there not in ALLOWED.get(here, set()):
                found.append(f"{path}:{line}: {here} may not import {there}")
    return found


def floors() -> dict[str, int]:
    """By package: 1 for one that imports no other, else one more than the highest that it may import."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(ALLOWED).static_order():
        found[name] = 1 + max((found[other] for other in ALLOWED[name]), default=0)
    return found


def test_allowed_edges_have_no_cycle_and_few_floors() -> None:
    assert max(floors().values()) <= 14


def test_the_tree_can_be_held_in_the_head() -> None:
    top = [path for path in (SRC / "minercdc").iterdir() if path.name != "__pycache__"]
    assert len([path for path in top if path.suffix == ".py"]) <= 4
    assert len([path for path in top if (path / "__init__.py").exists()]) <= 20
    for folder in {path.parent for path in (SRC / "minercdc").rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= 20, folder


def test_the_drawing_of_the_architecture_is_the_rule() -> None:
    drawing = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    drawn = re.findall(r"^[├└]── (\w+)\S* .* (\d+)(?:  ([a-z ]+))?$", drawing, re.M)
    floor = floors()
    for name, height, excluded in drawn:
        lower = {other for other in floor if floor[other] < int(height)} - _DOORS
        if name not in ("lake", "cli"):
            lower.discard("local")
        if name not in ("local", "messages", "observe", "pipeline", "operate"):
            lower.discard("web")
        assert floor[name] == int(height), name
        assert lower - set(re.findall(r"\w+", excluded)) == ALLOWED[name], name
    assert {name for name, *_ in drawn} == set(ALLOWED) - {"__init__", "__main__"}


def test_every_import_goes_downwards() -> None:
    assert violations(SRC / "minercdc") == []


def test_a_forbidden_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "schema").mkdir()
    for name in ("x.py", "x.pyx", "x.pxi"):
        (tmp_path / "schema" / name).write_text("from minercdc.values import codec\n")
    assert len(violations(tmp_path)) == 3


def test_every_unit_has_its_row() -> None:
    units = {p.relative_to(SRC / "minercdc").parts[0].removesuffix(".py") for p in (SRC / "minercdc").rglob("*.py")}
    assert units <= set(ALLOWED), units - set(ALLOWED)


def test_product_and_sandbox_import_nothing_of_each_other() -> None:
    for root, other in ((SRC, "minercdc_sandbox"), (SANDBOX, "minercdc")):
        for path in root.rglob("*.py"):
            assert [line for name, line in source(path).imports if name.split(".")[0] == other] == [], path


MOST_PARAMETERS = 8
MANY_PARAMETERS = {
    "cli/init.py init": "typer makes an option of each parameter of a command",
    "cli/groups/send.py execute_snapshot": "the same",
}


def functions_of_many_parameters(root: Path) -> set[str]:
    """`FILE NAME` of each."""
    return {f"{path.relative_to(root)} {name}" for path in root.rglob("*.py") for name in source(path).many_parameters}


def unpacked_literals(root: Path) -> list[str]:
    """`FILE:LINE` of each; parameters that go together have a name."""
    return [f"{path.relative_to(root)}:{line}" for path in sorted(root.rglob("*.py")) for line in source(path).unpacked]


def test_no_function_takes_many_parameters() -> None:
    assert functions_of_many_parameters(SRC / "minercdc") == set(MANY_PARAMETERS)


def test_no_call_unpacks_what_is_written_out() -> None:
    assert unpacked_literals(SRC / "minercdc") == []


def test_many_parameters_and_what_hides_them_are_found(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(
        "class A:\n    def __init__(self, a, b, c, d, /, e, f, *g, h, i=0): ...\n    def f(self, a, b, c, d, e, f, g, h): ...\n"
        "f(*(1, 2))\nf(*[1])\nf(**{'a': 1})\nf(*a, *(b for b in a), **c, **{**c, 'a': 1})\n"
    )
    assert functions_of_many_parameters(tmp_path) == {"x.py A.__init__"}
    assert unpacked_literals(tmp_path) == ["x.py:4", "x.py:5", "x.py:6"]


def test_no_module_of_the_product_imports_itself_through_others() -> None:
    assert cycle_of(SRC / "minercdc", lambda path: source(path).names) == []
