"""What `minercdc init` makes of a user's answers and of the tables that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.config.load import load_config
from minercdc.errors import ConfigError
from minercdc.operate.first_configuration import Answers, as_yaml, chosen, configuration, included, summary
from minercdc.schema.table import TableId

ANSWERS = Answers("orders", "db.example.com", 1522, "ORCLCDB", "ORCLPDB1", "C##CDC", "kafka:9092")


def table(schema: str, name: str) -> TableId:
    return TableId("ORCLPDB1", schema, name)


THERE = {
    table("SHOP", "ORDERS"): 10,
    table("SHOP", "ITEM$"): None,
    table("SHOP", "Orders"): 3,
    table("HR", "PEOPLE"): None,
}


def test_schemas_are_shown_with_the_rows_that_statistics_know() -> None:
    assert summary(THERE) == [("HR", 1, None), ("SHOP", 3, 13)]


def test_a_name_is_taken_as_it_is_given_else_in_any_case() -> None:
    assert chosen(THERE, ["SHOP.Orders"]) == [table("SHOP", "Orders")]
    assert chosen(THERE, ["shop.item$"]) == [table("SHOP", "ITEM$")]
    assert chosen(THERE, ["hr", "SHOP.ORDERS"]) == [table("HR", "PEOPLE"), table("SHOP", "ORDERS")]
    assert chosen({table("HR", "PEOPLE"): 1}, []) == [table("HR", "PEOPLE")], "the only schema"


@pytest.mark.parametrize(
    ("there", "wanted", "problem"),
    [
        (THERE, [], "--table: needed, since there are several schemas: HR, SHOP"),
        (THERE, ["SHOP.ORDER"], "SHOP.ORDER is neither a schema nor a table"),
        ({}, [], "the user sees no table"),
    ],
)
def test_what_cannot_be_captured_is_refused(there: dict[TableId, int | None], wanted: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        chosen(there, wanted)


def test_whole_schemas_are_included_as_such_and_tables_by_their_exact_names() -> None:
    assert included(THERE, chosen(THERE, ["SHOP"])) == ("schema.include.list", "SHOP")
    assert included(THERE, chosen(THERE, ["SHOP.ITEM$", "HR.PEOPLE"])) == (
        "table.include.list",
        r"HR\.PEOPLE,SHOP\.ITEM\$",
    )


@pytest.mark.parametrize("pdb", ["ORCLPDB1", ""])
def test_the_file_is_read_as_it_was_meant(pdb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_PASSWORD", "tiger: #'")
    answers = Answers(**{name: getattr(ANSWERS, name) for name in ANSWERS.__slots__} | {"pdb": pdb, "name": "on"})
    file = tmp_path / "orders.yaml"
    file.write_text(as_yaml(answers, included(THERE, chosen(THERE, ["SHOP.ITEM$"]))))
    config = load_config(file)
    assert (config.identity.name, config.identity.topic_prefix) == ("on", "on"), "no boolean of YAML"
    assert config.database.database_pdb_name == (pdb or None)
    assert config.database.database_password.get_secret_value() == "tiger: #'"
    wanted = configuration(answers, "tiger: #'", [table("SHOP", "ITEM$")])
    assert config.filters.table_include_list == wanted.filters.table_include_list
    assert "tiger" not in file.read_text()
