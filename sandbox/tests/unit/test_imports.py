"""No module imports itself through others; imports for type checking and within functions count."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import minercdc_sandbox

ROOT = Path(minercdc_sandbox.__file__).parent


def _module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_under(root: Path) -> dict[str, set[str]]:
    """The modules of a package and what each imports of the same package."""
    trees = {_module_of(path, root): ast.parse(path.read_text()) for path in root.rglob("*.py")}
    graph: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} imports by a relative name"
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                graph[name].update(one if one in trees else str(node.module) for one in full)
            elif isinstance(node, ast.Import):
                graph[name].update(alias.name for alias in node.names)
        graph[name] = (graph[name] & trees.keys()) - {name}
    return graph


def cycle_of(root: Path) -> list[str]:
    """Modules of one import cycle; empty when there is none."""
    try:
        TopologicalSorter(imports_under(root)).prepare()
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
