"""The C core on damaged statements and records, under the address and undefined-behaviour sanitizers.

MINERCDC_INPUTS says how many inputs (100,000, by day a quarter; `make fuzz` ten million), MINERCDC_SEED which.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.examples import examples
from tests.native_pair import HAS_COMPILER

_HERE = Path(__file__).parent
_CORE = Path(__file__).parents[3] / "src" / "minercdc" / "native"
_FLAGS = ("-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_TRIAL = ("cc", *_FLAGS, "-x", "c", "-o", os.devnull, "-")
_INPUTS = int(os.environ.get("MINERCDC_INPUTS", examples(100_000)))
_SEED = os.environ.get("MINERCDC_SEED", "1")


@pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("harness", "core"),
    [
        ("fuzz.c", ("scan.c", "print.c", "store.c", "avro.c", "pieces.c", "protobuf.c")),
        ("fuzz_decode.c", ("decode.c",)),
        ("fuzz_envelope.c", ("envelope.c",)),
    ],
)
def test_damaged_inputs_neither_crash_nor_are_read_beyond_their_end(
    tmp_path: Path, harness: str, core: tuple[str, ...]
) -> None:
    program = tmp_path / "fuzz"
    if subprocess.run(_TRIAL, input=b"int main(void){return 0;}", check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    sources = [_HERE / harness, *(_CORE / name for name in core)]
    subprocess.run(["cc", *_FLAGS, f"-I{_CORE}", "-o", program, *sources], check=True)
    ended = subprocess.run([program, str(_INPUTS), _SEED], capture_output=True, text=True, check=False)
    print(ended.stdout)
    assert ended.returncode == 0, ended.stderr[-4000:]
    inputs, accepted = map(int, re.findall(r"\d+", ended.stdout))
    assert inputs == _INPUTS
    assert accepted > inputs / 20, "hardly any input came to its end"
