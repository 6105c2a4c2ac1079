"""OSON images of every form to JSON text, and damaged ones to an error.

`image` writes them, from the layout that python-oracledb documents by its code; it shares nothing with the decoder, nor with the sandbox,
whose images `tests/sandbox_capture/test_json.py` decodes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.codec import ValueHandling, codec_for
from minercdc.values.oson import json_text


def scalar_image(node: str) -> str:
    """The image of a scalar whose node is given in hexadecimal digits."""
    return f"ff4a5a010016{len(node) // 2:04x}{node}"


def image(value: Any, *, relative: bool = False, wide: bool = False, long_names: Sequence[str] = ()) -> str:
    """The image of a container.

    :param relative: offsets count from their container.
    :param wide: lengths, counts, offsets and numbers of names have four bytes.
    :param long_names: those in the segment of long names, though they may be short.
    """
    short = sorted(names_of(value) - set(long_names))
    width = 4 if wide else 2
    number_width = 4 if wide else 1 if len(short) < 250 else 2
    numbers = {name: place for place, name in enumerate([*short, *long_names], 1)}
    tree = bytearray()
    put(tree, value, numbers, number_width, relative=relative, wide=wide)
    flags = 0x2102 | (0x0001 if relative else 0) | ({1: 0, 2: 0x0400, 4: 0x0008}[number_width]) | (0x1800 if wide else 0)
    segment, offsets = named(short, 1, width)
    head = bytes.fromhex(f"ff4a5a{3 if long_names else 1:02x}{flags:04x}")
    head += len(short).to_bytes(number_width, "big") + len(segment).to_bytes(width, "big")
    long_segment, long_offsets = named(long_names, 2, 2)
    if long_names:
        head += b"\x01\x00" + len(long_names).to_bytes(4, "big") + len(long_segment).to_bytes(4, "big")
    head += len(tree).to_bytes(width, "big") + b"\0\0"
    names = bytes(len(short)) + offsets + segment + bytes(2 * len(long_names)) + long_offsets + long_segment
    return (head + names + tree).hex()


def names_of(value: Any) -> set[str]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set(value if isinstance(value, dict) else ()).union(*map(names_of, items))


def named(names: Sequence[str], length_width: int, offset_width: int) -> tuple[bytes, bytes]:
    segment, offsets = b"", b""
    for name in names:
        offsets += len(segment).to_bytes(offset_width, "big")
        raw = name.encode()
        segment += len(raw).to_bytes(length_width, "big") + raw
    return segment, offsets


def put(tree: bytearray, value: Any, numbers: dict[str, int], number_width: int, *, relative: bool, wide: bool) -> None:
    if not isinstance(value, dict | list):
        tree += scalar(value)
        return
    start, width = len(tree), 4 if wide else 2
    tree.append((0x84 if isinstance(value, dict) else 0xC0) | (0x30 if wide else 0x08 if len(value) > 255 else 0))
    tree += len(value).to_bytes(4 if wide else 2 if len(value) > 255 else 1, "big")
    if isinstance(value, dict):
        tree += b"".join(numbers[name].to_bytes(number_width, "big") for name in value)
    at = len(tree)
    tree += bytes(width * len(value))
    for item in value.values() if isinstance(value, dict) else value:
        tree[at : at + width] = (len(tree) - (start if relative else 0)).to_bytes(width, "big")
        at += width
        put(tree, item, numbers, number_width, relative=relative, wide=wide)


def scalar(value: Any) -> bytes:
    if value is None or isinstance(value, bool):
        return b"0" if value is None else b"1" if value else b"2"
    if isinstance(value, str):
        raw = value.encode()
        width, kind = (1, b"3") if len(raw) < 256 else (2, b"7") if len(raw) < 65536 else (4, b"8")
        return (kind + len(raw).to_bytes(width, "big") if len(raw) > 31 else bytes((len(raw),))) + raw
    return bytes.fromhex("34" + _NUMBERS[value])


_NUMBERS = {Decimal(0): "0180", Decimal(1): "02c102", Decimal("-42.5"): "043e3b3366", Decimal("0.5"): "02c033"}

VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from(sorted(_NUMBERS)) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(150))
@given(st.lists(VALUES) | st.dictionaries(st.sampled_from("abcdefgh"), VALUES), st.booleans(), st.booleans(), st.booleans())
def test_every_layout(value: Any, relative: bool, wide: bool, some_long: bool) -> None:
    long_names = sorted(names_of(value))[::2] if some_long else []
    made = image(value, relative=relative, wide=wide, long_names=long_names)
    found = json_text(made)
    assert json.loads(found, parse_int=Decimal, parse_float=Decimal) == value
    assert found == shown(value)


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{shown(name)}:{shown(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(shown, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def test_members_keep_the_order_of_the_image() -> None:
    assert json_text(image({"b": None, "a": {"d": True, "c": []}})) == '{"b":null,"a":{"d":true,"c":[]}}'


# As python-oracledb 26.1 encodes them (`Connection.encode_oson`).
OF_THE_DRIVER = [
    (
        "ff4a5a012106030007003e00002cc1e50002000400000162016102c3a9a403030102000000110000003300000036e0030000001f00000024000000253403c1023330"
        "340cca0d23394f5b0d23394f5b0b330178a401030000003d31",
        '{"b":[1.5,null,12345678901234567890.1],"a":"x","\u00e9":{"b":true}}',
    ),
    (
        "ff4a5a01210600000000370000e004000000120000001a00000026000000323c787e021c01010139787c01020405061dcd65003e800000013e3f409dcd65003a0002"
        "cafe",
        '["2026-02-28T00:00:00","2024-01-02T03:04:05.5","P1DT2H3M4.5S","CAFE"]',
    ),
    ("ff4a5a010016000a33087878787878787878", '"xxxxxxxx"'),
    (
        f"ff4a5a0321060000000100000000010000012e000b0000f1b50000012c{'6e' * 300}a40101000000073402c102",
        f'{{"{"n" * 300}":1}}',
    ),
]


@pytest.mark.parametrize(("digits", "text"), OF_THE_DRIVER, ids=["objects", "types", "text", "a long name"])
def test_images_of_the_driver(digits: str, text: str) -> None:
    assert json_text(digits) == text
    assert json_text(digits.upper()) == text


SCALARS = [
    ("30", "null"),
    ("00", '""'),
    ("0361620a", '"ab\\n"'),
    ("330101", '"\\u0001"'),
    ("3700022f22", '"/\\""'),
    ("3800000002c3a9", '"\u00e9"'),
    ("3402c102", "1"),
    ("21c102", "1"),
    ("62c20218", "123"),
    ("42c102", "1"),
    ("543e3b3366", "-42.5"),
    ("2080", "0"),
    ("3402d402", f"1{'0' * 38}"),
    ("3402d502", "1E+40"),
    ("3402ad02", f"0.{'0' * 39}1"),
    ("3402ac02", "1E-42"),
    (f"3415d2{'0c' * 20}", f"{'11' * 18}.{'11' * 2}"),
    (f"3415d8{'0c' * 20}", f"1.{'1' * 39}E+47"),
    ("36bff8000000000000", "1.5"),
    ("36c4340000000000000000"[:18], "368934881474191000000"),
    ("7fbfc00000", "1.5"),
    ("7fbdcccccd", "0.100000001"),
    ("36bfb999999999999a", "0.1"),
    ("3c787e021c0e2e3c", '"2026-02-28T13:45:59"'),
    ("7d787e021c0e2e3c", '"2026-02-28T13:45:59"'),
    ("39787c01020405061dcd6500", '"2024-01-02T03:04:05.5"'),
    ("39787c010204050600000000", '"2024-01-02T03:04:05"'),
    ("7c787c010116230600000000195a", '"2024-01-02T03:04:05+05:30"'),
    ("7c787c01020405061dcd6500143c", '"2024-01-02T03:04:05.5Z"'),
    ("3d800000013e", '"P1Y2M"'),
    ("3d7ffffffe3c", '"-P2Y"'),
    ("3d800000003c", '"P0M"'),
    ("3e800000013e3f409dcd6500", '"P1DT2H3M4.5S"'),
    ("3e800000003c3c3c80000000", '"PT0S"'),
    ("3e800000003c3c3b80000000", '"-PT1S"'),
    ("3e800000023c3c3c80000000", '"P2D"'),
    ("3a0002cafe", '"CAFE"'),
    ("3b00000001ff", '"FF"'),
    ("7e020a0b", '"0A0B"'),
]


def array_of(node: str) -> str:
    return f"ff4a5a0121020000 00 {len(node) // 2 + 4:04x}0000c0010004{node}".replace(" ", "")


@pytest.mark.parametrize(("node", "text"), SCALARS, ids=[node[:12] for node, _ in SCALARS])
def test_scalars(node: str, text: str) -> None:
    assert json_text(scalar_image(node)) == text
    assert json_text(array_of(node)) == f"[{text}]"


def test_objects_that_share_their_names_and_places_that_share_a_scalar() -> None:
    tree = "c002000600 0e" + "8402 0102 0015 0016" + "9c 0006 0016 0015" + "31 32"
    names = "0000" + "0000 0002" + "0161 0162"
    digits = f"ff4a5a012102 02 0004 0017 0000 {names} {tree}".replace(" ", "")
    assert json_text(digits) == '[{"a":true,"b":false},{"a":false,"b":true}]'


def test_nesting_beyond_the_depth_of_python() -> None:
    depth, tree = 3000, ""
    for level in range(depth):
        tree += f"c001{4 * (level + 1):04x}"
    digits = f"ff4a5a01210200 0000 {4 * depth + 1:04x} 0000 {tree}30".replace(" ", "")
    assert json_text(digits) == "[" * depth + "null" + "]" * depth


DAMAGED = {
    "nothing": "",
    "no digits": "ff4a5",
    "another mark": "ff4a5b0100160001" + "30",
    "no header": "ff4a5a01",
    "a version": "ff4a5a020016000130",
    "a flag": "ff4a5a010056000130",
    "hashes of another width": image({"a": 1 == 1}).replace("2102", "2002", 1),
    "a byte too many": scalar_image("30") + "00",
    "a byte too few": scalar_image("3402c102")[:-2],
    "a size that is not that of the tree": "ff4a5a010016000230",
    "text that is no UTF-8": scalar_image("02fffe"),
    "half a surrogate pair": scalar_image("03eda080"),
    "a number without digits": scalar_image("3401c1"),
    "a digit beyond 99": scalar_image("3402c1ff"),
    "an infinite double": scalar_image("36fff0000000000000"),
    "no double": scalar_image("36fff8000000000000"),
    "a month that is none": scalar_image("3c787e0d1c0e2e3c"),
    "a region": scalar_image("7c787c010116230600000000985c"),
    "a vector": scalar_image("7b0100000000"),
    "a node of no kind": scalar_image("70"),
    "an array within itself": array_of("c0010000"),
    "a child outside": "ff4a5a0121020000000400 00c00100ff".replace(" ", ""),
    "a name that there is not": "ff4a5a012102 00 0000 0006 0000 8401 01 0005 30".replace(" ", ""),
    "a name number zero": "ff4a5a012102 00 0000 0006 0000 8401 00 0005 30".replace(" ", ""),
    "children without room": "ff4a5a012102 00 0000 0003 0000 c8ffff".replace(" ", ""),
    "an array with shared names": "ff4a5a012102 00 0000 0003 0000 d80000".replace(" ", ""),
    "names of no object": "ff4a5a012102 00 0000 0007 0000 9c0005 0005 c000".replace(" ", ""),
    "a name beyond its segment": "ff4a5a012102 01 0002 0002 0000 00 0000 0261 8400".replace(" ", ""),
}


@pytest.mark.parametrize("digits", DAMAGED.values(), ids=list(DAMAGED))
def test_what_is_damaged_or_not_known_is_refused_by_column(digits: str) -> None:
    codec = codec_for(Column("DOC", "JSON"), ValueHandling())
    with pytest.raises(ValueDecodeError, match="column DOC: "):
        codec.from_redo(f"/* JSON */ HEXTORAW('{digits}')")


@settings(max_examples=examples(400))
@given(VALUES.map(lambda value: image([value])), st.data())
def test_any_damage_is_an_error_or_another_text(digits: str, data: st.DataObject) -> None:
    """Nothing but text or ValueDecodeError comes of any bytes."""
    raw = bytearray.fromhex(digits)
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        text = json_text(raw[: data.draw(st.integers(0, len(raw)))].hex())
    except ValueDecodeError:
        return
    json.loads(text)


def test_codec() -> None:
    codec = codec_for(Column("DOC", "JSON"), ValueHandling())
    assert codec.from_redo(f"/* JSON */ HEXTORAW('{scalar_image('31')}')") == "true"
    assert codec.from_redo(f"HEXTORAW('{scalar_image('31')}')") == "true"
    with pytest.raises(ValueDecodeError, match="EMPTY_BLOB has no value"):
        codec.from_redo("/* JSON */ EMPTY_BLOB()")
    with pytest.raises(ValueDecodeError, match="a quoted text where HEXTORAW, EMPTY_BLOB was expected"):
        codec.from_redo("'{}'")
