"""The dependency rule of docs/architecture.md: import only downwards; minercdc and its sandbox import nothing of each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from sandbox.tests.unit.test_imports import cycle_of

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
SANDBOX = ROOT / "sandbox" / "src"

_PURE: dict[str, set[str]] = {"errors": set(), "schema": {"errors"}}
_PURE["members"] = set()
_PURE["offset"] = {"errors"}
_PURE["rows"] = {"schema", "errors"}
_PURE["events"] = {"offset", "rows", "schema", "errors"}
_PURE["contracts"] = {"events", "offset", "schema", "errors"}
_PURE["values"] = {"contracts", "events", "offset", "schema", "errors"}
_CORE = set(_PURE)
_ADAPTERS = _CORE | {"native", "config", "oracle", "metrics", "figures"}

ALLOWED: dict[str, set[str]] = {
    **_PURE,
    "native": _CORE,
    "figures": set(),
    "scratch": set(),
    "metrics": {"errors", "figures"},
    "exposition": {"errors", "metrics", "figures"},
    "state_directory": {"errors"},
    "config": _CORE,
    "oracle": _CORE | {"config", "figures"},
    "capture": _ADAPTERS,
    "snapshot": _ADAPTERS,
    "kafka": _ADAPTERS | {"formats", "moved_keys", "state_directory", "transaction_counts"},
    "sink": _ADAPTERS | {"kafka", "state_directory"},
    "formats": _CORE | {"config", "native"},
    "transforms": _CORE | {"config", "formats", "kafka"},
    "signals": _ADAPTERS | {"snapshot", "state_directory"},
    "status": _ADAPTERS | {"exposition", "signals"},
    "http_port": {"errors", "offset", "signals"},
    "notices": _ADAPTERS | {"exposition", "kafka", "signals"},
    "schema_notices": {"events"},
    "suspension": {"events", "offset", "schema"},
    "moved_keys": {"events", "schema"},
    "transaction_counts": {"events", "offset"},
    "pipeline": {"contracts", "events", "offset", "schema", "errors", "metrics", "suspension", "transaction_counts"},
    "batch": {"pipeline"},
    "next_offset": {"events", "offset"},
    "transaction_marks": {"events", "transaction_counts"},
    "left_out": {"contracts", "events", "errors", "metrics", "offset", "pipeline", "schema"},
    "publisher": (_CORE - {"values"})
    | {
        "batch",
        "left_out",
        "figures",
        "metrics",
        "next_offset",
        "pipeline",
        "suspension",
        "transaction_marks",
    },
    "engine": {"contracts", "events", "offset", "errors", "figures", "metrics", "pipeline", "publisher"},
    "local": {"errors"},
    "demo": {"errors", "local"},
}
ALLOWED["selection"] = _ADAPTERS | {"capture", "kafka", "moved_keys", "transaction_counts"}
ALLOWED["encoding"] = ALLOWED["selection"] | {"selection", "formats", "transforms"}
ALLOWED["lake"] = ALLOWED["selection"] | {"selection", "snapshot", "local", "sink", "state_directory", "formats"}
ALLOWED["signalling"] = set(ALLOWED) - {"lake", "local", "demo", "engine"}
ALLOWED["signal_answers"] = ALLOWED["signalling"] | {"signalling"}
ALLOWED["repeated_signals"] = ALLOWED["signalling"] | {"signalling"}
ALLOWED["unmatched"] = ALLOWED["encoding"]
ALLOWED["lost_rules"] = {"config", "events", "schema", "unmatched"}
ALLOWED["checks"] = ALLOWED["selection"] | {"selection", "signalling", "unmatched"}
ALLOWED["standby"] = ALLOWED["checks"] | {"checks"}
ALLOWED["wiring"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["handover"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["migration"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["stored_offset"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["rules"] = ALLOWED["checks"] | {"checks", "formats", "stored_offset"}
ALLOWED["repositioning"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["bundle"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["recording"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["reload"] = {"contracts"}
ALLOWED["loadable"] = ALLOWED["encoding"] | {"snapshot"}
ALLOWED["plan_grants"] = {"capture", "config", "oracle", "schema"}
ALLOWED["plan"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["tail"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["connector"] = set(ALLOWED) - {"lake", "local", "demo"}
ALLOWED["verification"] = ALLOWED["lake"] | {"lake"}
ALLOWED["relay"] = set(ALLOWED) - {"lake", "local", "demo", "verification", "handover", "migration"}
ALLOWED["lake"] |= {"relay"}
ALLOWED["verification"] |= {"relay", "scratch"}
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["__main__"] = {"cli"}
ALLOWED["submit"] = {"cli"}
ALLOWED["__init__"] = set()


@cache
def imported_names(path: Path) -> Sequence[tuple[str, int]]:
    """Names and lines of a file's imports; each file is parsed once for all tests."""
    return list(_imported_names(path))


def _imported_names(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: absolute imports only, one spelling"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names)


def imported_units(path: Path) -> Iterator[tuple[str, int]]:
    for name, line in imported_names(path):
        package, _, unit = name.partition(".")
        if package == "minercdc" and unit:
            yield unit.split(".")[0], line


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
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "x.py").write_text("from minercdc.values import codec\n")
    assert len(violations(tmp_path)) == 1


def test_every_unit_has_its_row() -> None:
    units = {p.relative_to(SRC / "minercdc").parts[0].removesuffix(".py") for p in (SRC / "minercdc").rglob("*.py")}
    assert units <= set(ALLOWED), units - set(ALLOWED)


def test_product_and_sandbox_import_nothing_of_each_other() -> None:
    for root, other in ((SRC, "minercdc_sandbox"), (SANDBOX, "minercdc")):
        for path in root.rglob("*.py"):
            assert [line for name, line in imported_names(path) if name.split(".")[0] == other] == [], path


def test_no_module_of_the_product_imports_itself_through_others() -> None:
    assert cycle_of(SRC / "minercdc") == []
