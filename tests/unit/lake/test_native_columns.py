"""Records decoded by compiled code, beside the Python decoder, which `test_row_values.py` holds to Spark SQL."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.spark.test_lake_types import CASES, Case, handling_of, values_of
from tests.unit.lake.test_row_values import ZONED, column_of

from minercdc.config.target.lake import LakeConfig
from minercdc.errors import LakeError
from minercdc.lake.read.compiled_plan import read_column
from minercdc.lake.read.kept_batches import KeptBatches
from minercdc.lake.read.native_columns import ReadColumn, ReadPlan, RecordLeft, read_batches
from minercdc.lake.read.row_values import reading_of
from minercdc.native.decoding import decode
from minercdc.schema.table import Column
from minercdc.values.codec import codec_for

pytestmark = pytest.mark.skipif(decode is None, reason="the extension was not built")

NAMES = ("op", "scn", "commit_scn", "seq", "row_id", "offset")
IN_SQL_ONLY = {"CLOB", "NCLOB", "BLOB", "LONG", "LONG RAW", "XMLTYPE", "JSON"}


def plan_of(images: Sequence[ReadColumn], keys: Sequence[ReadColumn] = (), **flags: bool) -> ReadPlan:
    given = {"value_wrapped": False, "key_wrapped": False, "before": False} | flags
    return ReadPlan(tuple(images), tuple(keys), **given)


def batch_of(rows: Sequence[tuple[str | None, str, str, int, int, str | None]]) -> pa.RecordBatch:
    """(key, value, op, commit SCN, number, ROWID) of each record."""
    keys, values, ops, scns, seqs, row_ids = zip(*rows, strict=True)
    columns = {
        "key": pa.array(keys, pa.string()),
        "value": pa.array(values, pa.string()),
        "op": pa.array(ops, pa.string()),
        "scn": pa.array(scns, pa.int64()),
        "commit_scn": pa.array(scns, pa.int64()),
        "seq": pa.array(seqs, pa.int64()),
        "row_id": pa.array(row_ids, pa.string()),
        "offset": pa.array(range(len(rows)), pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def read(plan: ReadPlan, *values: str, key: str | None = None, op: str = "c") -> list[dict[str, Any]]:
    batch = batch_of([(key, value, op, 1, 1, "A") for value in values])
    # A slice, whose first row is not the buffers' first one.
    both = pa.RecordBatch.from_pydict({n: pa.concat_arrays([batch[n].slice(0, 1), batch[n]]) for n in batch.schema.names})
    (found,) = read_batches(plan, NAMES, None, iter([both.slice(1)]))
    found.validate(full=True)
    return [{k: v for k, v in row.items() if k.startswith("n")} for row in found.to_pylist()]


def native(case: Case, member: str) -> object:
    """The value that compiled code makes of a member's JSON; `"left"` where it leaves it to SQL."""
    column = read_column(column_of(case), values_of(case.modes))
    if column is None:
        return "left"
    try:
        return plain(read(plan_of([column]), f'{{"before":null,"after":{{"C":{member}}}}}')[0]["n0"])
    except RecordLeft:
        return "left"


def python(case: Case, member: str) -> object:
    lake = LakeConfig.model_validate({"minercdc.lake.number": case.number})
    try:
        return reading_of(column_of(case), values_of(case.modes), lake)(json.loads(member))
    except (LakeError, ValueError):
        return "refused"


def plain(value: Any) -> object:
    """Times as microseconds, NaN as text."""
    if hasattr(value, "timestamp"):
        raise AssertionError("times are compared as numbers")
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def compared(case: Case, member: str) -> tuple[object, object]:
    column, wanted = column_of(case), python(case, member)
    found = read_column(column, values_of(case.modes))
    if found is not None and column.spark_type.startswith("TIMESTAMP"):
        try:
            batch = batch_of([(None, f'{{"before":null,"after":{{"C":{member}}}}}', "c", 1, 1, "A")])
            (rows,) = read_batches(plan_of([found]), NAMES, None, iter([batch]))
            return rows.column("n0").cast(pa.int64())[0].as_py(), wanted
        except RecordLeft:
            return "left", wanted
    if column.spark_type == "FLOAT" and isinstance(wanted, float) and not math.isnan(wanted):
        wanted = pa.scalar(wanted, pa.float32()).as_py()
    return native(case, member), plain(wanted)


@pytest.mark.parametrize("case", [*CASES, *ZONED], ids=str)
def test_a_value_is_that_of_the_python_decoder(case: Case) -> None:
    codec = codec_for(Column("C", case.type, case.length, case.scale), handling_of(values_of(case.modes)))
    found, wanted = compared(case, codec.to_json(case.text))
    if found == "left":
        long = case.text.startswith("1" + "0" * 125)
        moved = case.type == "NUMBER" and (case.scale or 0) < 0
        before_christ = case.text.startswith("-0044")
        assert case.type in IN_SQL_ONLY or case.number != "text" or long or moved or before_christ or case.length == 38
    else:
        assert found == wanted


TYPES = [Case(case.type, case.length, case.scale, "", None, case.modes, case.number) for case in (*CASES, *ZONED)]
DIGITS = st.integers(-(10**40), 10**40)
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
BASE64 = st.binary(max_size=20).map(lambda raw: __import__("base64").b64encode(raw).decode())
ISO = st.from_regex(r"[0-2]\d{3}-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d(\.\d{1,9})?Z?", fullmatch=True)
MEMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-200, 200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["NaN", "Infinity", "-Infinity", ""]),
    TEXT,
    BASE64,
    ISO,
    DIGITS.map(str),
    st.decimals(-(10**9), 10**9, places=2).map(str),
    st.fixed_dictionaries({"scale": st.integers(-30, 130), "value": BASE64}),
)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(TYPES), MEMBERS, st.booleans())
def test_any_member_has_the_value_of_the_python_decoder_or_is_left(case: Case, member: object, ascii_only: bool) -> None:
    text = json.dumps(member, ensure_ascii=ascii_only, separators=(",", ":"))
    if member is None:
        assert native(case, text) in (None, "left")
        return
    found, wanted = compared(case, text)
    assert found == "left" or found == wanted


NUMBER = ReadColumn("ID", "INTEGER", "BIGINT")
NAME = ReadColumn("NAME", "TEXT", "STRING")
AFTER = '{"before":{"ID":1,"NAME":"was"},"after":{"ID":1,"NAME":"is"}'


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (AFTER + "}", "is"),
        (AFTER + ',"source":{"version":"1"},"op":"u"}', "is"),
        ('{"before":null,"after":{"OTHER":[{"a":"}"},2],"NAME":"\\u00e9\\ud83d\\ude00\\"","ID":1}}', 'é😀"'),
        ('{"before":null,"after":{"ID":1}}', None),
        ('{"before":null,"after":{}}', None),
        ('{"before":null,"after":null}', None),
        ('{"before":null}', None),
    ],
)
def test_the_image_after_the_change_is_read(value: str, wanted: str | None) -> None:
    assert read(plan_of([NAME]), value) == [{"n0": wanted}]


def test_of_a_delete_the_image_before_is_read_on_request() -> None:
    value = '{"before":{"NAME":"was"},"after":null}'
    assert read(plan_of([NAME]), value, op="d") == [{"n0": None}]
    assert read(plan_of([NAME], before=True), value, op="d") == [{"n0": "was"}]
    assert read(plan_of([NAME], before=True), AFTER + "}", op="u") == [{"n0": "is"}]


def test_documents_with_schemas_are_read() -> None:
    plan = plan_of([NAME], [NUMBER], value_wrapped=True, key_wrapped=True)
    key = '{"schema":{"type":"struct","fields":[{"field":"ID"}]},"payload":{"ID":7}}'
    assert read(plan, f'{{"schema":{{"x":[1]}},"payload":{AFTER}}}}}', key=key) == [{"n0": "is", "n1": 7}]
    assert read(plan, f'{{"payload":{AFTER}}}}}', key='{"payload":{"ID":7}}') == [{"n0": "is", "n1": 7}]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        '{"before":null,"after":{"NAME":"x"',
        '{"before":null,"after":{"NAME":"x" }}',
        '{"before":null,"after":{"NAME":"\\ud83d"}}',
        '{"before":null,"after":{"NAME":"\\x"}}',
        '{"before":null,"after":{"NAME":1}}',
        '{"before":null,"after":{"NAME":"x","NAME":"y"}}',
        '{"before":null,"after":["NAME"]}',
        '{"after',
        '{"before":}',
        "[]",
    ],
)
def test_another_text_is_left_to_sql(value: str) -> None:
    with pytest.raises(RecordLeft):
        read(plan_of([NAME]), value)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.binary(max_size=60), st.sampled_from([AFTER + "}", '{"before":null,"after":{"ID":-12,"NAME":"\\u00e9"}}']), st.data()
)
def test_no_text_makes_it_read_beyond_its_end(noise: bytes, value: str, data: st.DataObject) -> None:
    cut = value[: data.draw(st.integers(0, len(value)))] + noise.decode("latin-1")
    try:
        (found,) = read(plan_of([NAME, NUMBER]), cut)
    except RecordLeft:
        return
    if cut.startswith(value):
        assert found == read(plan_of([NAME, NUMBER]), value)[0]


Change = tuple[str | None, str, str, int, int, str | None]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(['{"ID":1}', '{"ID":2}', '{"ID":30}']),
        st.just('{"before":null,"after":null}'),
        st.sampled_from("cud"),
        st.integers(1, 3),
        st.integers(1, 3),
        st.sampled_from(["A", "B", None]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(CHANGES, st.integers(1, 5))
def test_the_last_change_of_each_key_is_kept(changes: list[Change], size: int) -> None:
    batches = [batch_of(changes[at : at + size]) for at in range(0, len(changes), size)]
    numbered = []
    for i, batch in enumerate(batches):
        offsets = pa.array(range(i * size, i * size + batch.num_rows), pa.int64())
        numbered.append(batch.set_column(batch.schema.get_field_index("offset"), "offset", offsets))
    found = [
        row["offset"] for part in read_batches(plan_of([NAME]), NAMES, "key", iter(numbered)) for row in part.to_pylist()
    ]
    assert sorted(found) == sorted(last_by_rule(changes))


def last_by_rule(changes: list[Change]) -> list[int]:
    """Offsets of what `merge.latest` keeps: the last change of each key and ROWID, then of each key, where deletes come first."""
    of_row: dict[tuple[str | None, str], int] = {}
    for i, (key, _, _, scn, seq, row_id) in enumerate(changes):
        other = of_row.setdefault((key, row_id or ""), i)
        if (scn, seq, i) > (changes[other][3], changes[other][4], other):
            of_row[(key, row_id or "")] = i
    last: dict[str | None, int] = {}
    for i in of_row.values():
        key, _, op, scn, seq, _ = changes[i]
        other = last.setdefault(key, i)
        if (scn, op != "d", seq, i) > (changes[other][3], changes[other][2] != "d", changes[other][4], other):
            last[key] = i
    return list(last.values())


def test_many_batches_go_to_disk_and_come_back_in_order() -> None:
    batches = [batch_of([(None, "x" * 100, "c", n, 1, "A")]) for n in range(20)]
    with KeptBatches(most=1000) as kept:
        for batch in batches:
            kept.add(batch)
        assert [batch.column("scn")[0].as_py() for batch in kept] == list(range(20))
