"""The dependency rule of docs/architecture.md: import only downwards, the sandbox nothing of minercdc."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"

_PURE: dict[str, set[str]] = {"errors": set(), "schema": {"errors"}}
_PURE["offset"] = {"errors"}
_PURE["events"] = {"offset", "schema", "errors"}
_PURE["contracts"] = {"events", "offset", "schema", "errors"}
_PURE["values"] = {"contracts", "events", "offset", "schema", "errors"}
_CORE = set(_PURE)
_ADAPTERS = _CORE | {"config", "oracle", "metrics"}

ALLOWED: dict[str, set[str]] = {
    **_PURE,
    "metrics": {"errors"},
    "exposition": {"metrics"},
    "state_directory": {"errors"},
    "config": _CORE,
    "oracle": _CORE | {"config"},
    "capture": _ADAPTERS,
    "snapshot": _ADAPTERS,
    "kafka": _ADAPTERS | {"state_directory"},
    "signals": _ADAPTERS | {"snapshot", "state_directory"},
    "suspension": {"events", "offset"},
    "life": {"contracts", "events", "offset", "schema", "errors", "metrics", "suspension"},
    "publisher": {"contracts", "events", "offset", "schema", "errors", "metrics", "life", "suspension"},
    "engine": {"contracts", "events", "offset", "errors", "metrics", "life", "publisher"},
    "lake": {"errors", "config"},
    "local": {"errors"},
    "demo": {"errors", "local"},
    "sandbox": set(),
}
ALLOWED["signalling"] = set(ALLOWED) - {"sandbox", "lake", "local", "demo", "engine"}
ALLOWED["signal_answers"] = ALLOWED["signalling"] | {"signalling"}
ALLOWED["wiring"] = set(ALLOWED) - {"sandbox", "lake", "local", "demo"}
ALLOWED["connector"] = set(ALLOWED) - {"sandbox", "lake", "local", "demo"}
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["__main__"] = {"cli"}
ALLOWED["__init__"] = set()


def imported_units(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: absolute imports only, one spelling"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "minercdc" and len(parts) > 1:
                yield parts[1], node.lineno


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*.py")):
        here = path.relative_to(root).parts[0].removesuffix(".py")
        for there, line in imported_units(path):
            if there != here and there not in ALLOWED.get(here, set()):
                found.append(f"{path}:{line}: {here} may not import {there}")
    return found


def test_allowed_edges_have_no_cycle() -> None:
    list(TopologicalSorter(ALLOWED).static_order())


def test_every_import_goes_downwards() -> None:
    assert violations(SRC / "minercdc") == []


def test_a_forbidden_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "x.py").write_text("from minercdc.values import codec\n")
    assert len(violations(tmp_path)) == 1


def test_every_unit_has_its_row() -> None:
    units = {p.relative_to(SRC / "minercdc").parts[0].removesuffix(".py") for p in (SRC / "minercdc").rglob("*.py")}
    assert units <= set(ALLOWED), units - set(ALLOWED)
