"""Stored bytes to Row text: the worked values of docs/reference/logminer-facts.md."""

from __future__ import annotations

import pytest

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.image import Encoding, text_of_image

IMAGES = [
    ("NUMBER", "80", "0"),
    ("NUMBER", "c102", "1"),
    ("NUMBER", "c164", "99"),
    ("NUMBER", "c202", "100"),
    ("NUMBER", "c20218", "123"),
    ("NUMBER", "c402", "1000000"),
    ("NUMBER", "c033", "0.5"),
    ("NUMBER", "c006", "0.05"),
    ("NUMBER", "c10d33", "12.5"),
    ("NUMBER", "c502182e445a02", "123456789.01"),
    ("NUMBER", "3e6466", "-1"),
    ("NUMBER", "3d6466", "-100"),
    ("NUMBER", "3e3b3366", "-42.5"),
    ("DATE", "787e021c0e2e3c", "2026-02-28 13:45:59"),
    ("TIMESTAMP", "787c0102040506", "2024-01-02 03:04:05.000000000"),
    ("TIMESTAMP", "787c01020405061dcd6500", "2024-01-02 03:04:05.500000000"),
    ("TIMESTAMP WITH TIME ZONE", "787c010116230600000000195a", "2024-01-02 03:04:05.000000000 +05:30"),
    ("TIMESTAMP WITH TIME ZONE", "6465010101010100000000163c", "0001-01-01 02:00:00.000000000 +02:00"),
    # years BC, across the ends of days, months and the era, by the Julian calendar
    ("TIMESTAMP WITH TIME ZONE", "64630c1f181f0100000000153c", "0001-01-01 00:30:00.000000000 +01:00"),
    ("TIMESTAMP WITH TIME ZONE", "64650101011f0100000005133c", "-0001-12-31 23:30:00.000000005 -01:00"),
    ("TIMESTAMP WITH TIME ZONE", "645f021c181f0100000000153c", "-0005-02-29 00:30:00.000000000 +01:00"),
    ("TIMESTAMP WITH TIME ZONE", "64620301011f0100000000133c", "-0002-02-28 23:30:00.000000000 -01:00"),
    ("TIMESTAMP WITH TIME ZONE", "3558060f0203041dcd6500195a", "-4712-06-15 06:32:03.500000000 +05:30"),
    ("TIMESTAMP WITH TIME ZONE", "7764021c181f0100000000153c", "1900-03-01 00:30:00.000000000 +01:00"),
    ("TIMESTAMP WITH TIME ZONE", "c7c60c1f183c3c3b9ac9ff223c", "9999-01-01 13:59:59.999999999 +14:00"),
    ("INTERVAL YEAR TO MONTH", "800000013e", "1-2"),
    ("INTERVAL DAY TO SECOND", "800000013e3f409dcd6500", "1 02:03:04.500000000"),
    ("BINARY_FLOAT", "bfc00000", "1.5"),
    ("BINARY_FLOAT", "403fffff", "-1.5"),
    ("BINARY_DOUBLE", "c004000000000000", "2.5"),
    ("BINARY_DOUBLE", "3ffbffffffffffff", "-2.5"),
    ("BINARY_DOUBLE", "8000000000000000", "0.0"),
    ("VARCHAR2", "5a6fc3ab", "Zoë"),
    ("NVARCHAR2", "00680416", "hЖ"),
    ("RAW", "cafe", "cafe"),
]


@pytest.mark.parametrize(("type_name", "image", "text"), IMAGES)
def test_stored_bytes_become_row_text(type_name: str, image: str, text: str) -> None:
    assert text_of_image(Column("C", type_name), bytes.fromhex(image), Encoding()) == text


@pytest.mark.parametrize(
    ("type_name", "image", "charset"),
    [
        ("DATE", "78", "AL32UTF8"),
        ("DATE", "787e001c0e2e3c", "AL32UTF8"),
        ("NUMBER", "c1ff", "AL32UTF8"),
        ("NUMBER", "", "AL32UTF8"),
        ("TIMESTAMP", "787c010204050600", "AL32UTF8"),
        ("TIMESTAMP WITH LOCAL TIME ZONE", "787c010204", "AL32UTF8"),
        ("TIMESTAMP WITH TIME ZONE", "787c01011623060000000095ff", "AL32UTF8"),
        ("BINARY_DOUBLE", "80", "AL32UTF8"),
        ("VARCHAR2", "ff", "AL32UTF8"),
        ("VARCHAR2", "41", "ZHT32EUC"),
        ("CLOB", "41", "AL32UTF8"),
    ],
)
def test_other_bytes_are_refused(type_name: str, image: str, charset: str) -> None:
    with pytest.raises(ValueDecodeError):
        text_of_image(Column("C", type_name), bytes.fromhex(image), Encoding(charset))


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("+00:00", "2024-03-01 01:30:00.500000000"),
        ("+02:00", "2024-02-29 23:30:00.500000000"),
        ("-09:45", "2024-03-01 11:15:00.500000000"),
    ],
)
def test_local_times_are_stored_in_the_zone_of_the_database(zone: str, text: str) -> None:
    image = bytes.fromhex("787c0301021f011dcd6500")
    assert text_of_image(Column("C", "TIMESTAMP WITH LOCAL TIME ZONE"), image, Encoding(time_zone=lambda: zone)) == text


def test_a_database_in_a_region_is_refused() -> None:
    column = Column("C", "TIMESTAMP WITH LOCAL TIME ZONE")
    with pytest.raises(ValueDecodeError, match="DBTIMEZONE is Europe/Berlin"):
        text_of_image(column, bytes.fromhex("787c0301021f01"), Encoding(time_zone=lambda: "Europe/Berlin"))


def test_a_region_is_refused_with_its_number() -> None:
    with pytest.raises(ValueDecodeError, match="region number 383"):
        text_of_image(Column("C", "TIMESTAMP WITH TIME ZONE"), bytes.fromhex("787c01011623060000000085fc"), Encoding())
