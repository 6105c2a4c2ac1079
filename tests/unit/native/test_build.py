"""The extension is there where it can be built, and MINERCDC_NATIVE=0 turns it off."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from tests.native_pair import BUILT_HERE, HAS_COMPILER

from minercdc import native
from minercdc.capture.logminer.kept.rows import PART_BYTES
from minercdc.capture.logminer.session.row import LARGE_CODES, PLACEHOLDER_ROW_ID, OpCode
from minercdc.pipeline.publisher import RECORD_COST


@pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler, or no headers of Python")
@pytest.mark.parametrize("name", ["_rows", "_decode"])
def test_an_extension_is_built_where_a_compiler_is(name: str) -> None:
    assert find_spec(f"minercdc.native.{name}") is not None, (
        "make install did not build it: pip install -v --editable . shows why"
    )


@pytest.mark.parametrize(("setting", "path"), [("0", "python"), ("1", BUILT_HERE), (None, BUILT_HERE)])
def test_the_version_says_which_path_is_in_use(setting: str | None, path: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MINERCDC_NATIVE"}
    if setting is not None:
        environment["MINERCDC_NATIVE"] = setting
    shown = subprocess.run(
        [sys.executable, "-m", "minercdc", "--version"], capture_output=True, text=True, env=environment, check=True
    )
    assert shown.stdout.endswith(f" ({path})\n")


@pytest.mark.skipif(native.rows is None, reason="no native path")
def test_both_paths_know_the_same_operation_codes() -> None:
    assert native.rows is not None
    assert {name: OpCode[name] for name in native.rows.OPERATION_CODES} == native.rows.OPERATION_CODES
    assert native.rows.LARGE_CODES == LARGE_CODES


@pytest.mark.skipif(native.rows is None, reason="no native path")
def test_both_paths_count_with_the_same_sizes() -> None:
    assert native.rows is not None
    sizes = {"PLACEHOLDER_SIZE": len(PLACEHOLDER_ROW_ID), "RECORD_COST": RECORD_COST, "PART_BYTES": PART_BYTES}
    assert sizes == native.rows.SIZES


def test_the_line_of_make_install_says_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINERCDC_NATIVE", raising=False)
    monkeypatch.setattr(native, "rows", None)
    assert "needs a C compiler" in native.summary()
    monkeypatch.setenv("MINERCDC_NATIVE", "0")
    assert native.summary().startswith("MINERCDC_NATIVE=0")
    monkeypatch.setattr(native, "rows", object())
    assert "compiled" in native.summary()
