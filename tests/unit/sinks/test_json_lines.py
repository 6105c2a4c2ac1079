"""JSON lines: in a file exactly once, cut to what the offset says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from minercdc.errors import FencedError, SchemaHistoryError, SinkError
from minercdc.sinks import json_lines
from minercdc.sinks.json_lines import JsonLines, json_line
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset


def sink(file: Path) -> JsonLines:
    return JsonLines(file, file)


def offset(number: int) -> Offset:
    return Offset("logminer", {"at": number})


def committed(file: Path, number: int) -> None:
    writer = sink(file)
    writer.write(Record("t", b'{"ID":%d}' % number, b'{"op":"c"}'))
    writer.commit(offset(number))
    writer.close()


def test_a_line_is_one_document() -> None:
    line = json_line(Record('t"', b'{"ID":1}', None, (("a", b'{"b":1}'), ("n", None))))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"topic": 't"', "key": {"ID": 1}, "value": None, "headers": {"a": '{"b":1}', "n": None}}


def test_cut_at_every_byte_or_longer_the_committed_lines_are_what_counts(tmp_path: Path) -> None:
    file = tmp_path / "changes.jsonl"
    committed(file, 1)
    whole = file.read_bytes()
    for extra in range(len(whole)):
        file.write_bytes(whole + whole[:extra])
        writer = sink(file)
        stored = writer.load_offset()
        assert stored is not None
        assert stored.position == {"at": 1}
        assert file.read_bytes() == whole
        writer.close()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        with pytest.raises(SinkError, match=f"has {cut} bytes, but the offset .* expects {len(whole)}"):
            sink(file)


def test_killed_between_lines_and_offset_the_lines_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "changes.jsonl"
    committed(file, 1)

    def killed(path: Path, content: bytes) -> None:
        raise KeyboardInterrupt

    writer = sink(file)
    writer.write(Record("t", b'{"ID":2}', b'{"op":"c"}'))
    with monkeypatch.context() as now:
        now.setattr(json_lines, "replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            writer.commit(offset(2))
    writer.close()
    assert len(file.read_bytes().splitlines()) == 2
    committed(file, 2)
    assert [json.loads(line)["key"]["ID"] for line in file.read_bytes().splitlines()] == [1, 2]


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(SinkError, match="is not empty"):
        sink(file)
    assert file.read_text() == "mine"


def test_a_file_that_another_program_writes_or_moves_stops_the_connector(tmp_path: Path) -> None:
    file = tmp_path / "changes.jsonl"
    writer = sink(file)
    file.write_text("x")
    with pytest.raises(SinkError, match="another program changed it"):
        writer.commit(offset(1))
    writer.close()
    writer = sink(file)
    file.rename(tmp_path / "rotated")
    writer.write(Record("t", None, b"{}"))
    with pytest.raises(SinkError, match="No such file"):
        writer.commit(offset(1))
    writer.close()


def test_a_second_owner_is_fenced(tmp_path: Path) -> None:
    first = sink(tmp_path / "f")
    with pytest.raises(FencedError, match=f"belongs to another process, pid {os.getpid()}"):
        sink(tmp_path / "f")
    first.close()
    sink(tmp_path / "f").close()


def test_an_offset_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    committed(tmp_path / "f", 1)
    (tmp_path / "f.offset").write_text("{")
    with pytest.raises(SchemaHistoryError, match=r"f\.offset cannot be read"):
        sink(tmp_path / "f")
