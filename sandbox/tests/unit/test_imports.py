"""No module imports itself through others; imports for type checking and within functions count."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import minercdc_sandbox

ROOT = Path(minercdc_sandbox.__file__).parent


def _module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_of(node: ast.AST) -> list[tuple[str, str]]:
    """Of each name that a statement imports: in full, and the module that is named; none of another statement."""
    if isinstance(node, ast.ImportFrom):
        return [(f"{node.module}.{alias.name}", str(node.module)) for alias in node.names]
    return [(alias.name, alias.name) for alias in node.names] if isinstance(node, ast.Import) else []


def names_in(path: Path) -> list[tuple[str, str]]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), f"{path} imports by a relative name"
    return [name for node in nodes for name in names_of(node)]


Names = Callable[[Path], Sequence[tuple[str, str]]]


def imports_under(root: Path, names: Names = names_in) -> dict[str, set[str]]:
    """The modules of a package and what each imports of the same package."""
    found = {_module_of(path, root): names(path) for path in root.rglob("*.py")}
    return {
        name: ({full if full in found else module for full, module in imported} & found.keys()) - {name}
        for name, imported in found.items()
    }


def cycle_of(root: Path, names: Names = names_in) -> list[str]:
    """Modules of one import cycle; empty when there is none."""
    try:
        TopologicalSorter(imports_under(root, names)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_sandbox_has_no_import_cycle() -> None:
    assert len(imports_under(ROOT)) > 150
    assert cycle_of(ROOT) == []


@pytest.mark.parametrize(
    "back",
    [
        "from package.first import one\n",
        "from package import first\n",
        "import package.first\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.first import one\n",
        "def later():\n    from package.first import one\n    return one\n",
    ],
)
def test_a_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("from package.second import two\n")
    (package / "second.py").write_text("two = 2\n")
    assert cycle_of(package) == []
    (package / "second.py").write_text(back)
    assert set(cycle_of(package)) == {"package.first", "package.second"}
