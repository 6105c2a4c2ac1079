"""Values in Oracle's formats, and as text, to Row text."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fors_server.printing import TYPES, Printer, Style

from minercdc.capture.fors_olr.operations import ColumnValue
from minercdc.capture.fors_olr.values import Pieces, converter
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.errors import DecodeError, SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import Column
from minercdc.stream.events import UNAVAILABLE

CASES = [
    ("VARCHAR2", "it's Ж \U0001f600"),
    ("NVARCHAR2", "Ж \U0001f600"),
    ("CHAR", "ab   "),
    ("NUMBER", "0"),
    ("NUMBER", "-99999999999999999999999999999999999999"),
    ("NUMBER", "0.12345678901234567890123456789"),
    ("FLOAT", "-1.5"),
    ("DATE", "2026-02-28 13:45:59"),
    ("DATE", "-4712-01-01 00:00:00"),
    ("TIMESTAMP", "1583-01-01 00:00:00.000000001"),
    ("TIMESTAMP", "9999-12-31 23:59:59.000000000"),
    ("TIMESTAMP WITH TIME ZONE", "2026-02-28 23:45:59.000000001 -03:30"),
    ("TIMESTAMP WITH LOCAL TIME ZONE", "2026-02-28 13:45:59.500000000"),
    ("BINARY_FLOAT", "1.5"),
    ("BINARY_FLOAT", "-0.1"),
    ("BINARY_DOUBLE", "-2.25"),
    ("BINARY_DOUBLE", "Infinity"),
    ("RAW", "00ff"),
    ("INTERVAL YEAR TO MONTH", "-12-3"),
    ("INTERVAL DAY TO SECOND", "-3 04:05:06.000000007"),
]


def configured(**settings: Any) -> ForsConfig:
    return ForsConfig.model_validate({f"minercdc_fors_{name}": setting for name, setting in settings.items()})


def cell(type_name: str, value: bytes | None, charset: int | None = None, *, chunked: bool = False) -> ColumnValue:
    return ColumnValue(TYPES[type_name], None, None, charset, None, chunked, value)


def read(type_name: str, value: bytes | None, charset: int | None = None, **settings: Any) -> Any:
    config = configured(**settings)
    return converter(Column("C", type_name), config, lambda: "+00:00")(cell(type_name, value, charset), None)


@pytest.mark.parametrize(("type_name", "text"), CASES)
@pytest.mark.parametrize("encoding", ["oracle", "text"])
def test_each_type(type_name: str, text: str, encoding: Any) -> None:
    printer = Printer(Style(values=encoding))
    column = Column("C", type_name)
    value, (charset, _) = printer.value(column, text), printer._charset(column)
    assert read(type_name, value, charset, value_encoding=encoding) == text
    assert read(type_name, None, charset, value_encoding=encoding) is None


@pytest.mark.parametrize(
    ("type_name", "spelled", "text"),
    [
        ("NUMBER", "+1E3", "1000"),
        ("NUMBER", ".5", "0.5"),
        ("DATE", "2026-02-28T13:45:59", "2026-02-28 13:45:59"),
        ("TIMESTAMP", "2026-02-28T13:45:59.5", "2026-02-28 13:45:59.500000000"),
        ("TIMESTAMP WITH TIME ZONE", "2026-02-28T13:45:59Z", "2026-02-28 13:45:59.000000000 +00:00"),
        ("TIMESTAMP WITH TIME ZONE", "2026-02-28T13:45:59.5-03:30", "2026-02-28 13:45:59.500000000 -03:30"),
        ("RAW", "00FF", "00ff"),
        ("INTERVAL DAY TO SECOND", "+01 2:3:4.5", "1 02:03:04.500000000"),
    ],
)
def test_spellings_of_texts(type_name: str, spelled: str, text: str) -> None:
    assert read(type_name, spelled.encode(), value_encoding="text") == text


@pytest.mark.parametrize(
    ("charset", "codec"),
    [(171, "cp1251"), (196, "koi8-r"), (152, "cp866"), (35, "iso8859-5"), (873, "utf-8"), (2000, "utf-16-be")],
)
def test_the_character_set_comes_with_the_column(charset: int, codec: str) -> None:
    assert read("VARCHAR2", "Привет".encode(codec), charset) == "Привет"


def test_utf8_of_oracle_has_surrogates() -> None:
    assert read("VARCHAR2", bytes.fromhex("eda0bdedb880"), 871) == "\U0001f600"


@pytest.mark.parametrize(
    ("value", "charset", "reason"),
    [
        (b"x", None, "without its character set"),
        (b"x", 9999, "character set number 9999"),
        (b"\xff", 873, "ff is not valid text in utf-8"),
        (b"\xff", 1, "is not valid text in ascii"),
        (b"\xd8\x00", 2000, "is not valid text"),
    ],
)
def test_text_that_cannot_be_read(value: bytes, charset: int | None, reason: str) -> None:
    with pytest.raises(ValueDecodeError, match=reason):
        read("VARCHAR2", value, charset)


@pytest.mark.parametrize("type_name", ["DATE", "TIMESTAMP", "BINARY_FLOAT", "INTERVAL YEAR TO MONTH"])
def test_a_value_of_another_length_is_refused(type_name: str) -> None:
    with pytest.raises(ValueDecodeError, match="has 3 bytes"):
        read(type_name, b"abc")


def test_a_value_of_another_type_shows_that_the_table_was_altered() -> None:
    with pytest.raises(SchemaMismatchError, match="the server sent type 2, the column is a DATE"):
        converter(Column("C", "DATE"), configured(), lambda: "")(cell("NUMBER", b"\x80"), None)


def large(type_name: str, data: bytes, charset: int | None, type_: int = 112, **settings: Any) -> Any:
    config = configured(**settings)
    pieces = Pieces(type_, bytearray(data), len(data))
    column = Column("C", type_name)
    return converter(column, config, lambda: "")(cell(type_name, None, charset, chunked=True), pieces)


def test_character_lobs_are_stored_in_utf_16_where_characters_have_several_bytes() -> None:
    assert large("CLOB", "Ж".encode("utf-16-be"), 873) == "Ж"
    assert large("CLOB", "Ж".encode("cp1251"), 171) == "Ж"
    assert large("NCLOB", "Ж".encode("utf-16-be"), 2000) == "Ж"
    assert large("CLOB", "Ж".encode(), 873, clob_charset="column") == "Ж"
    assert large("CLOB", "Ж".encode(), None, value_encoding="text") == "Ж"
    assert large("BLOB", b"\x00\xff", None, 113) == "00ff"


def test_a_lob_without_bytes_is_null_unless_it_is_to_be_empty() -> None:
    assert large("CLOB", b"", 873) is None
    assert large("CLOB", b"", 873, empty_lob="empty") == ""


def test_xml_of_tokens_is_not_available() -> None:
    assert large("XMLTYPE", b"\x9f\x01", None, 113) is UNAVAILABLE
    assert read("XMLTYPE", b"\x9f\x01") is UNAVAILABLE
    assert read("XMLTYPE", None) is None
    assert large("XMLTYPE", "<a/>".encode("utf-16-be"), 873, 112) == "<a/>"


def test_a_lob_beyond_the_limit_cannot_be_decoded() -> None:
    convert = converter(Column("C", "BLOB"), configured(lob_max_bytes=1024), lambda: "")
    with pytest.raises(ValueDecodeError, match="its value has 2000 bytes"):
        convert(cell("BLOB", None, chunked=True), Pieces(113, bytearray(), 2000))


@given(st.sampled_from(sorted(TYPES)), st.binary(min_size=1, max_size=30), st.sampled_from(["oracle", "text"]))
def test_any_bytes_are_a_value_or_refused(type_name: str, value: bytes, encoding: Any) -> None:
    with contextlib.suppress(DecodeError):
        assert isinstance(read(type_name, value, 873, value_encoding=encoding), (str, type(UNAVAILABLE)))
