"""A recording's file: complete and sound, or refused."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import oracledb
import pytest

from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError, TransientSourceError
from minercdc.operate.recording import faults, values
from minercdc.operate.recording.file import RecordingWriter, lines_of
from minercdc.oracle.codes import classify, oracle_errors


def made(path: Path) -> Path:
    writer = RecordingWriter(path, {"minercdc": "1"})
    writer.write({"kind": "call", "call": 1, "on": "root", "sql": "SELECT 'ä\ud800' FROM DUAL", "binds": {}})
    writer.finish({"error": ""})
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [line for line, _, _ in lines_of(path, io.BytesIO())]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    head, call, end = read(made(tmp_path / "r.gz"))
    assert (head["kind"], head["version"]) == ("minercdc-recording", 1)
    assert call["sql"] == "SELECT 'ä\ud800' FROM DUAL"
    assert end["kind"] == "end"
    assert (tmp_path / "r.gz").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["r.gz"]


def test_one_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r.gz", {})
    writer.abandon()
    writer.abandon()
    writer.write({"kind": "of a thread that was left alone"})
    assert list(tmp_path.iterdir()) == []


def test_damage_of_any_byte_is_found(tmp_path: Path) -> None:
    path = made(tmp_path / "r.gz")
    whole = path.read_bytes()
    sound = read(path)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with suppress(ConfigError):
            assert read(path) == sound, f"byte {at}"  # gzip's own head has bytes that mean nothing


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "r.gz")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at])
        with pytest.raises(ConfigError):
            read(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[:-1], "not finished"),
        (lambda lines: [*lines[:1], *lines[2:]], "checksum"),
        (lambda lines: [*lines, *lines[1:2]], "after its end"),
        (lambda lines: [lines[0].replace("minercdc-recording", "else"), *lines[1:]], "kind"),
        (lambda lines: [lines[0].replace('"version":1', '"version":99'), *lines[1:]], "version 99"),
        (lambda lines: [*lines[:1], "[]", *lines[1:]], "line 2"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: Any, why: str) -> None:
    path = made(tmp_path / "r.gz")
    lines = gzip.decompress(path.read_bytes()).decode("utf-8", "surrogatepass").splitlines()
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in change(lines)).encode("utf-8", "surrogatepass")))
    with pytest.raises(ConfigError, match=why):
        read(path)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, "ä", 1.5, b"\x00\xff", Decimal("1.50"), datetime(2026, 1, 2, 3, 4, 5, 6), timedelta(days=-1, seconds=3)],
)
def test_values_come_back_through_json(value: object) -> None:
    back = values.from_json(json.loads(json.dumps(values.to_json(value))))
    assert back == value
    assert type(back) is type(value)


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigError, match="object"):
        values.to_json(object())


class _Detail:
    code, full_code, isrecoverable = 310, "ORA-00310", False

    def __str__(self) -> str:
        return "ORA-00310: archived log contains sequence 7"


def test_an_error_of_the_driver_is_classified_as_the_original() -> None:
    error = oracledb.DatabaseError(_Detail())
    cause = oracledb.OperationalError(_Detail())
    error.__cause__ = cause
    back = faults.from_json(json.loads(json.dumps(faults.to_json(error))))
    assert isinstance(back, oracledb.DatabaseError)
    assert isinstance(back.__cause__, oracledb.OperationalError)
    original, again = classify(error, "reading"), classify(back, "reading")
    assert (type(again), str(again)) == (type(original), str(original))


@pytest.mark.parametrize("error", [OSError("no route"), ConnectionResetError("reset by peer"), TimeoutError("too late")])
def test_a_connection_that_broke_is_transient_again(error: OSError) -> None:
    back = faults.from_json(json.loads(json.dumps(faults.to_json(error))))
    with pytest.raises(TransientSourceError, match=f"reading: {error}"), oracle_errors("reading"):
        raise back


@pytest.mark.parametrize(
    "error", [TransientSourceError("gone", hint="wait", ora_code=3113), PrerequisiteError("missing", hint="grant")]
)
def test_an_error_of_connecting_comes_back(error: MinerCdcError) -> None:
    back = faults.connecting_from_json(json.loads(json.dumps(faults.connecting_to_json(error))))
    assert (type(back), str(back)) == (type(error), str(error))
