"""Table structures as they are written in Debezium's form, and as a user gives them back in signal `schema-changes`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from minercdc.messages.table_changes import change_of, published, remembered
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import SchemaChange, Scn

T = TableId("PDB", "S", "T")
TABLE = TableSchema(
    T,
    (
        Column("ID", "NUMBER", 9, 0, False),
        Column("N", "NUMBER"),
        Column("TEXT", "VARCHAR2", 20),
        Column("AT", "TIMESTAMP", None, 3),
        Column("ZONED", "TIMESTAMP WITH TIME ZONE", None, 9),
        Column("HERE", "TIMESTAMP WITH LOCAL TIME ZONE", None, 6),
        Column("YEARS", "INTERVAL YEAR TO MONTH", 3),
        Column("DAYS", "INTERVAL DAY TO SECOND", 2, 6),
        Column("LARGE", "CLOB"),
        Column("REAL", "BINARY_DOUBLE"),
    ),
    (0,),
)
CHANGE = SchemaChange(T, None, TABLE, "", Scn(1), 0)


def test_what_the_schema_change_topic_says_can_be_given_back() -> None:
    (document,) = json.loads(json.dumps(published(CHANGE)))
    assert change_of(document) == (T, TABLE)


def test_what_the_schema_history_says_can_be_given_back() -> None:
    (document,) = json.loads(json.dumps(remembered(CHANGE)))
    assert change_of(document) == (T, TABLE)


def test_comments_are_given_back_also_from_where_debezium_writes_them() -> None:
    described = replace(TABLE, comment="all", columns=(replace(TABLE.columns[0], comment="its number"), *TABLE.columns[1:]))
    for written in (published, remembered):
        (document,) = json.loads(json.dumps(written(replace(CHANGE, after=described))))
        assert document["table"]["comment"] == "all"
        assert [column.get("comment") for column in document["table"]["columns"][:2]] == ["its number", None]
        assert change_of(document) == (T, described)
        beside = {**document, "comment": document["table"].pop("comment")}
        assert change_of(beside) == (T, described)


def test_identity_columns_number_themselves() -> None:
    identity = replace(TABLE.columns[0], default='"S"."ISEQ$$_73218".nextval')
    (document,) = published(replace(CHANGE, after=replace(TABLE, columns=(identity, *TABLE.columns[1:]))))
    assert isinstance(document, dict)
    assert isinstance(structure := document["table"], dict)
    assert isinstance(columns := structure["columns"], list)
    assert [column["autoIncremented"] for column in columns[:2] if isinstance(column, dict)] == [True, False]


def test_a_table_is_dropped_without_its_structure() -> None:
    dropped = replace(CHANGE, before=TABLE, after=None)
    (document,) = json.loads(json.dumps(published(dropped)))
    assert change_of(document) == change_of({"type": "drop", "id": document["id"]}) == (T, None)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"type": "RENAME", "id": "x"}, "type RENAME"),
        ({"type": "DROP", "id": "S.T"}, "is not of the form"),
        ({"type": "DROP", "id": 7}, "id 7 is not of the form"),
    ],
)
def test_what_is_no_change_of_a_table_says_why(document: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        change_of(document)


@pytest.mark.parametrize(
    ("member", "value", "problem"),
    [
        ("name", 7, "name 7 of column 7 is not text"),
        ("name", None, "name None of column None is not text"),
        ("typeName", None, "typeName None of column 'A' is not text"),
        ("length", "9", "length '9' of column 'A' is not a whole number or null"),
        ("scale", True, "scale True of column 'A' is not a whole number or null"),
        ("optional", "no", "optional 'no' of column 'A' is not true or false"),
    ],
)
def test_a_column_with_a_value_of_another_type_is_refused(member: str, value: object, problem: str) -> None:
    column = {"name": "A", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": True, member: value}
    document = {"type": "ALTER", "id": '"D"."S"."T"', "table": {"columns": [column], "primaryKeyColumnNames": []}}
    with pytest.raises(ValueError, match=re.escape(problem)):
        change_of(document)
