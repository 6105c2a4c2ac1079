"""`source.sequence`: a token that puts the changes of a connector into one order, compared as text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.test_column_changes import encoder
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, TX, event
from tests.unit.messages.transforms.made import UNWRAP, chain, parsed, records

from minercdc.messages.envelope import source_sequence
from minercdc.stream.events import Op, SchemaChange, Scn, SnapshotMark

ON = {"minercdc.source.sequence": "true"}
INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)
DDL = SchemaChange(ORDERS.id, ORDERS, ORDERS, "TRUNCATE TABLE ORDERS", Scn(8842031), 5, truncate=True, tx_id=TX.id)


def tokens(*events: Any, properties: dict[str, str] = ON) -> list[str | None]:
    made = encoder(properties)
    return [json.loads(r.value)["source"]["sequence"] for one in events for r in made.encode(one) if r.value is not None]


def read(scn: int, mark: SnapshotMark = SnapshotMark.TRUE) -> Any:
    found = event(Op.READ, None, NEW)
    found.tx, found.snapshot, found.seq, found.scn = None, mark, 0, Scn(scn)
    return found


def test_a_change_has_commit_scn_transaction_and_number() -> None:
    ((found,), again) = tokens(INSERT), tokens(INSERT)
    assert found == '["0000000000008842031","0a001f00b3020000","000000000002"]'
    assert again == [found]


def test_it_is_null_unless_it_is_configured() -> None:
    assert tokens(INSERT, read(5), properties={}) == [None, None]


def test_rows_of_one_transaction_time_and_table_have_their_own() -> None:
    found = tokens(*(replace(INSERT, seq=seq) for seq in (2, 9, 10, 99_999)))
    assert found == sorted(map(str, found))
    assert len(set(found)) == 4


def test_both_records_of_a_key_change_have_the_token_of_the_change() -> None:
    first, second = tokens(event(Op.UPDATE, NEW, ("7", *NEW[1:])))
    assert first == second


def test_a_row_that_was_read_comes_after_the_commits_that_it_shows() -> None:
    at = TX.commit_scn
    next_one = replace(INSERT, tx=replace(TX, id="00" * 8, commit_scn=Scn(at + 1)), seq=1)
    same_scn = replace(INSERT, tx=replace(TX, id="ff" * 8))
    found = tokens(INSERT, same_scn, read(at), next_one)
    assert found == sorted(map(str, found))
    assert tokens(read(at, SnapshotMark.INCREMENTAL)) == [found[2]], "read again at the same SCN, it is the same"


def test_rows_that_were_read_at_other_scns_in_the_same_microsecond() -> None:
    assert tokens(read(5), read(6)) == [
        '["0000000000000000005","read","000000000000"]',
        '["0000000000000000006","read","000000000000"]',
    ]


def test_a_ddl_comes_after_the_rows_before_it() -> None:
    properties = {**ON, "skipped.operations": "none"}
    found = tokens(INSERT, read(TX.commit_scn), DDL, properties=properties)
    assert found == sorted(map(str, found))
    structure = replace(DDL, truncate=False, snapshot=True, ddl="")
    assert tokens(structure) == tokens(read(TX.commit_scn)), "a structure that a snapshot read has the token of its rows"


def test_there_is_none_where_the_scn_is_not_known() -> None:
    assert tokens(replace(INSERT, tx=replace(TX, commit_scn=Scn(0)))) == [None]


def test_a_flattened_row_can_have_it() -> None:
    transforms = chain((UNWRAP, {"add.fields": "source.sequence", "delete.tombstone.handling.mode": "rewrite"}))
    found = [
        parsed(r.value)["__source_sequence"] for r in records(transforms, INSERT, DELETE, minercdc_source_sequence="true")
    ]
    assert found == tokens(INSERT, DELETE)


PLACES = st.tuples(st.integers(1, 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(1, 10**12 - 1))


@given(PLACES, PLACES)
def test_tokens_compare_as_their_numbers(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    def token(place: tuple[int, int, int]) -> str:
        scn, xid, seq = place
        tx = replace(TX, commit_scn=Scn(scn), id=f"{xid:016x}")
        found: str = json.loads(source_sequence.of_change(replace(INSERT, tx=tx, seq=seq)))
        return found

    assert (token(one) < token(other)) == (one < other)
    assert [len(part) for part in json.loads(token(one))] == [19, 16, 12]


def test_the_schema_of_values_has_it_as_ever() -> None:
    properties = {"value.converter.schemas.enable": "true"}
    without, with_it = (json.loads(encoder({**properties, **more}).encode(INSERT)[0].value or b"") for more in ({}, ON))
    assert without["schema"] == with_it["schema"]
