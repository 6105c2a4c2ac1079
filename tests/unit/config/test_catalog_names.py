"""Names of lake tables in a catalog."""

from __future__ import annotations

import pytest

from minercdc.config.target.catalog_names import CatalogNames
from minercdc.schema.table import TableId

ORDERS = TableId("PDB1", "SHOP", "ORDERS")


@pytest.mark.parametrize(
    ("template", "several", "path"),
    [
        (None, False, ["SHOP", "ORDERS"]),
        (None, True, ["PDB1", "SHOP", "ORDERS"]),
        ("bronze.${schema:lower}_${table:lower}", False, ["bronze", "shop_orders"]),
        ("a.b.${database:lower}.${schema}-${table}", True, ["a", "b", "pdb1", "SHOP-ORDERS"]),
        ("${database}.${schema:upper}_${table}", False, ["PDB1", "SHOP_ORDERS"]),
    ],
)
def test_a_table_is_named_by_the_template(template: str | None, several: bool, path: list[str]) -> None:
    assert CatalogNames(template, several=several).path(ORDERS) == path


def test_a_dot_in_a_name_divides_nothing() -> None:
    assert CatalogNames("lake.${schema}_${table}", several=False).path(TableId("D", "A.B", "C")) == ["lake", "A.B_C"]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("${table}", "schema"),
        ("bronze.${table}", "schema"),
        ("bronze.${schema}", "table"),
        ("${schema}${table}", "namespace"),
        ("${schema}..${table}", "namespace"),
        ("${owner}.${table}", "placeholders"),
        ("${schema:title}.${table}", "placeholders"),
        ("${schema}.`${table}`", "letters"),
        ("${schema}.$table${table}", "letters"),
    ],
)
def test_a_template_that_cannot_name_tables_says_why(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CatalogNames(template, several=False)


def test_several_pluggable_databases_are_told_apart() -> None:
    with pytest.raises(ValueError, match=r"without \$\{database\}"):
        CatalogNames("${schema}.${table}", several=True)


def test_two_tables_of_one_name_are_refused() -> None:
    names = CatalogNames("x.${schema:lower}_${table:lower}", several=False)
    assert names.path(ORDERS) == names.path(ORDERS)
    with pytest.raises(ValueError, match=r"SHOP.ORDERS and SHOP.Orders would both be x.shop_orders"):
        names.path(ORDERS._replace(table="Orders"))
    parts = CatalogNames("x.${schema}_${table}", several=False)
    parts.path(TableId("D", "A_B", "C"))
    with pytest.raises(ValueError, match="both"):
        parts.path(TableId("D", "A", "B_C"))
