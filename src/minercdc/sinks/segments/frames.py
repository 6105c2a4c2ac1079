"""Makes and reads the frames that a segment consists of; pure.

    length of the payload (4 bytes)   CRC-32 (4)   kind (1)   payload

    H  header: the first frame of a segment    JSON: form, log, connector, number, records and offset before it
    R  record                                  topic, key, value, headers
    C  commit: what lies before it is valid    JSON: offset, records up to here, time

The CRC is that of length, kind and payload. A commit begins with `COMMIT`, so that one can be searched for after damage.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

from minercdc.stream.contracts import Record

FORM = 1  # of the frames; a reader refuses another one
HEADER, RECORD, COMMIT = b"H", b"R", b"C"

_HEAD = struct.Struct(">IIc")
HEAD_BYTES = _HEAD.size
_CHECKED = struct.Struct(">Ic")
_RECORD = struct.Struct(">HiiH")  # lengths of topic, key, value (-1: null), number of headers
_NAMED = struct.Struct(">Hi")  # of a header: lengths of name and value (-1: null)
_MARK = b"COMMIT"


class Frame(NamedTuple):
    """A whole, valid frame that was read.

    :param kind: HEADER, RECORD, COMMIT, or a kind that is not known.
    :param end: byte of the file where the next frame begins.
    """

    kind: bytes
    payload: bytes
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the first frame of a segment says.

    :param log: identifies the sequence of segments: a directory that is begun again has another one.
    :param connector: its name.
    :param segment: number of the segment, from 1 on.
    :param records: how many records the segments before hold.
    :param offset: stored offset of the last commit before, as JSON text; None for none.
    """

    log: str
    connector: str
    segment: int
    records: int
    offset: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit frame says.

    :param offset: stored offset, as JSON text; None when it was removed.
    :param records: how many records there are up to here, those of earlier segments included.
    :param time_ms: of the commit, milliseconds since the epoch in UTC.
    """

    offset: str | None
    records: int
    time_ms: int


class StoredRecord(NamedTuple):
    """A committed record, as it was read, with its number, from 0 on over all segments, and the time of its commit in
    milliseconds since the epoch in UTC. Key and value are None as in `contracts.Record`."""

    number: int
    time_ms: int
    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def frame(kind: bytes, payload: bytes) -> bytes:
    """The bytes of a frame of this kind, with length and checksum before the payload."""
    length = len(payload)
    return _HEAD.pack(length, crc32(payload, crc32(_CHECKED.pack(length, kind))), kind) + payload


def frame_length(head: bytes) -> int:
    """How many bytes the frame has that begins with `head`, as its length says; 0 when `head` has fewer than HEAD_BYTES."""
    return HEAD_BYTES + int(_HEAD.unpack_from(head)[0]) if len(head) >= HEAD_BYTES else 0


def frames(data: bytes, base: int = 0) -> Iterator[Frame]:
    """The frames from the beginning of `data` on, up to the first that is not whole and valid; none when that is the first.

    :param base: where `data` begins in its file; `Frame.end` counts from the file's beginning.
    """
    at, size, head = 0, len(data), _HEAD.size
    while at + head <= size:
        length, checksum, kind = _HEAD.unpack_from(data, at)
        end = at + head + length
        if end > size:
            return
        payload = data[at + head : end]
        if crc32(payload, crc32(data[at : at + 4] + kind)) != checksum:
            return
        at = end
        yield Frame(kind, payload, base + end)


def commits(data: bytes, base: int = 0) -> Iterator[tuple[int, Commit]]:
    """(byte of the file where it ends, commit) of the commits from the beginning of `data` on, up to the first frame that is not whole or a
    commit that is not valid. Other frames are passed over unchecked.

    :param base: where `data` begins in its file.
    """
    at, size, head = 0, len(data), _HEAD.size
    while at + head <= size:
        length, _, kind = _HEAD.unpack_from(data, at)
        end = at + head + length
        if end > size or (kind == COMMIT and not _is_commit(data, at)):
            return
        if kind == COMMIT:
            yield base + end, commit_of(data[at + head : end])
        at = end


def has_commit(data: bytes, at: int) -> bool:
    """Whether a valid, whole commit frame begins anywhere at byte `at` of `data` or after it."""
    place = data.find(_MARK, at + _HEAD.size)
    while place >= 0:
        if _is_commit(data, place - _HEAD.size):
            return True
        place = data.find(_MARK, place + 1)
    return False


def last_commit(data: bytes) -> Commit | None:
    """The last valid commit in `data`, the end of a segment, which may begin within a frame; None when it holds none. Raises as
    `commit_of`."""
    place = data.rfind(_MARK)
    while place >= _HEAD.size:
        if _is_commit(data, place - _HEAD.size):
            (length,) = struct.unpack_from(">I", data, place - _HEAD.size)
            return commit_of(data[place : place + length])
        place = data.rfind(_MARK, 0, place)
    return None


def _is_commit(data: bytes, at: int) -> bool:
    length, checksum, kind = _HEAD.unpack_from(data, at)
    begin = at + _HEAD.size
    if kind != COMMIT or begin + length > len(data):
        return False
    found: int = crc32(memoryview(data)[begin : begin + length], crc32(_CHECKED.pack(length, kind)))
    return found == int(checksum)


def header_frame(header: Header) -> bytes:
    """The bytes of the frame that begins a segment."""
    document = {
        "form": FORM,
        "log": header.log,
        "connector": header.connector,
        "segment": header.segment,
        "records": header.records,
        "offset": header.offset,
    }
    return frame(HEADER, _json(document))


def header_of(payload: bytes) -> Header:
    """The header in the payload of a frame of kind HEADER. Raises ValueError, KeyError or TypeError when it is not of the
    form `FORM`."""
    found = json.loads(payload)
    if found["form"] != FORM:
        raise ValueError(f"form {found['form']}")
    return Header(found["log"], found["connector"], int(found["segment"]), int(found["records"]), found["offset"])


def commit_frame(commit: Commit) -> bytes:
    """The bytes of the frame of a commit, for which `last_commit` looks."""
    return frame(COMMIT, _MARK + _json({"offset": commit.offset, "records": commit.records, "time": commit.time_ms}))


def commit_of(payload: bytes) -> Commit:
    """The commit in the payload of a frame of kind COMMIT. Raises ValueError, KeyError or TypeError for something else."""
    found = json.loads(payload[len(_MARK) :])
    return Commit(found["offset"], found["records"], found["time"])


def record_frame(record: Record) -> bytes:
    """The bytes of the frame of a record, which the next commit frame after it commits. The record's partition is not in it."""
    topic, key, value = record.topic.encode(), record.key, record.value
    sizes = (-1 if key is None else len(key), -1 if value is None else len(value))
    payload = _RECORD.pack(len(topic), *sizes, len(record.headers)) + topic + (key or b"") + (value or b"")
    for name, content in record.headers:
        encoded = name.encode()
        payload += _NAMED.pack(len(encoded), -1 if content is None else len(content)) + encoded + (content or b"")
    return frame(RECORD, payload)


def record_of(payload: bytes, number: int, time_ms: int) -> StoredRecord:
    """The record in the payload of a frame of kind RECORD, whose checksum was right.

    :param number: of the record; `time_ms` is that of its commit.
    """
    topic_size, key_size, value_size, count = _RECORD.unpack_from(payload)
    at = _RECORD.size
    topic, at = payload[at : at + topic_size].decode(), at + topic_size
    key, at = (None, at) if key_size < 0 else (payload[at : at + key_size], at + key_size)
    value, at = (None, at) if value_size < 0 else (payload[at : at + value_size], at + value_size)
    headers = []
    for _ in range(count):
        name_size, size = _NAMED.unpack_from(payload, at)
        at += _NAMED.size
        name, at = payload[at : at + name_size].decode(), at + name_size
        content, at = (None, at) if size < 0 else (payload[at : at + size], at + size)
        headers.append((name, content))
    return StoredRecord(number, time_ms, topic, key, value, tuple(headers))


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
