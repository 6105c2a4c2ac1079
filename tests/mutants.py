"""Whether the gate finds faults: ``python -m tests.mutants --count 40 --seed 1`` changes one place of ``src`` at a time and runs tests.

A mutant is a comparison or an arithmetic operator that is another one, or a statement that is gone. For each, the pure tests are run until one
fails; where none does, the tests of the gate that `LEVELS` names for its folder; where none of these does, those tests of the whole suite, and its
folder's pure ones, with all examples as by night. One line says which level found it; `survived` is for a person to
judge. Each mutant has a copy of the checkout of its own, which goes afterwards.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = Path("src/minercdc")

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "*"}

_STREAM = (
    "tests/conformance",
    "tests/kafka",
    "tests/simulate",
    "tests/e2e/test_happy_path.py",
    "tests/e2e/test_suspension.py",
)

LEVELS: Mapping[str, Sequence[str]] = {
    "capture": ("tests/conformance", "tests/sandbox_capture", "tests/checker"),
    "cli": ("tests/e2e",),
    "config": ("tests/e2e/test_configuration.py", "tests/e2e/test_examples.py", "tests/conformance"),
    "lake": ("tests/spark",),
    "local": ("tests/kafka/test_sink.py", "tests/spark/test_lake.py", "tests/e2e/test_readme.py"),
    "messages": (*_STREAM, "tests/e2e", "tests/parity"),
    "observe": (
        "tests/e2e/test_status.py",
        "tests/e2e/test_signals.py",
        "tests/e2e/test_secrets.py",
        "tests/kafka/test_delivery.py",
    ),
    "operate": ("tests/e2e", "tests/sandbox_capture/test_grants.py", "tests/parity/test_migration.py"),
    "oracle": ("tests/conformance", "tests/sandbox_capture"),
    "relay": ("tests/e2e/test_relay.py", "tests/spark/test_relay_source.py"),
    "schema": (
        "tests/conformance",
        "tests/sandbox_capture/test_ddl_history.py",
        "tests/sandbox_capture/test_renames.py",
        "tests/checker",
    ),
    "signals": ("tests/checker/test_signals.py", "tests/sandbox_capture", "tests/simulate", "tests/e2e/test_signals.py"),
    "sinks": (*_STREAM, "tests/e2e/test_sinks.py", "tests/e2e/test_fencing.py", "tests/spark/test_direct.py"),
    "snapshot": (
        "tests/conformance",
        "tests/sandbox_capture",
        "tests/checker/test_signals.py",
        "tests/simulate",
        "tests/e2e/test_snapshot_modes.py",
    ),
    "values": ("tests/conformance", "tests/sandbox_capture/test_types.py", "tests/sandbox_capture/test_generated_types.py"),
    "": (*_STREAM, "tests/e2e"),
}
"""Tests with servers that use a folder or module of the product; '' is for all others."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `text` stands in place of `[begin, end)` of the file's bytes."""

    path: Path
    line: int
    begin: int
    end: int
    text: str
    says: str

    def apply(self, root: Path) -> None:
        source = (root / self.path).read_bytes()
        (root / self.path).write_bytes(source[: self.begin] + self.text.encode() + source[self.end :])

    @property
    def levels(self) -> Sequence[str]:
        return LEVELS.get(self._folder, LEVELS[""])

    @property
    def nearest(self) -> Sequence[str]:
        """The pure tests of its own folder: most mutants are found there, in seconds."""
        near = f"tests/unit/{self._folder}"
        return (near,) if (ROOT / near).is_dir() else ()

    @property
    def _folder(self) -> str:
        return self.path.relative_to(SOURCES).parts[0].removesuffix(".py")


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    def change(node: ast.expr | ast.stmt, begin: int, end: int, text: str) -> Mutant:
        return Mutant(path, node.lineno, begin, end, text, f"{source[begin:end].decode().strip()!r} -> {text.strip()!r}")

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            left, right = node.left, node.comparators[0]
            begin, end = place(left.end_lineno or 0, left.end_col_offset or 0), place(right.lineno, right.col_offset)
            # Between operand and operator there may be parentheses, which stay.
            if set(source[begin:end]) <= set(b" =!<>isnot\n"):
                yield change(node, begin, end, f" {_COMPARISONS[type(node.ops[0])]} ")
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _is_text(node):
            left, right = node.left, node.right
            begin, end = place(left.end_lineno or 0, left.end_col_offset or 0), place(right.lineno, right.col_offset)
            if set(source[begin:end]) <= set(b" +-*/%\n"):
                yield change(node, begin, end, f" {_ARITHMETIC[type(node.op)]} ")
        elif _can_go(node):
            assert isinstance(node, ast.stmt)
            begin, end = place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)
            yield change(node, begin, end, "pass")


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operand shows that it is about text or types: another operator ends in TypeError at once."""
    return any(isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and not isinstance(each.value, int | float))
               for each in (node.left, node.right))  # fmt: skip


def _can_go(node: ast.AST) -> bool:
    """Whether a statement can be removed without the file being no Python any more, and does something."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Delete | ast.Continue)


def sampled(count: int, seed: int) -> list[Mutant]:
    """`count` mutants of all of `src`, by seed."""
    every = [
        mutant
        for path in sorted((ROOT / SOURCES).rglob("*.py"))
        for mutant in mutants(path.relative_to(ROOT))
    ]  # fmt: skip
    return random.Random(seed).sample(every, count)


def _fails(copy: Path, arguments: Sequence[str], **variables: str) -> str:
    """The first test that fails, '' if none does."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "loadfile", "--maxfail", "1", *arguments],
        cwd=copy, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode in (0, 5):  # 5: the gate leaves all of these out
        return ""
    found = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return found[0].split(" - ")[0] if found else f"exit code {done.returncode}"


def judge(mutant: Mutant, scratch: Path) -> str:
    """The level that finds a mutant, with the test."""
    copy = scratch / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", ".pytest_cache", ".test-all"))
    try:
        mutant.apply(copy)
        for tests in (mutant.nearest, ("tests/unit",), mutant.levels):
            if tests and (found := _fails(copy, ["-p", "tests.gate", *tests])):
                return f"gate: {found}"
        if found := _fails(copy, [*(mutant.nearest or ("tests/unit",)), *mutant.levels], MINERCDC_EXAMPLES="all"):
            return f"WHOLE SUITE ONLY: {found}"
        return "survived"
    finally:
        shutil.rmtree(copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="begin", help="number of the first mutant to try")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    given = parser.parse_args()
    for number, mutant in enumerate(sampled(given.count, given.seed)):
        if number < given.begin:
            continue
        place = f"{number} {mutant.path}:{mutant.line} {mutant.says}"
        if given.list:
            print(place)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{place}: {judge(mutant, Path(scratch))}", flush=True)


if __name__ == "__main__":
    main()
