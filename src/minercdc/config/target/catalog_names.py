"""Names of lake tables in a catalog: `minercdc.lake.catalog.table.name`.

bronze.${schema:lower}_${table:lower}    SHOP.ORDERS  ->  namespace bronze, table shop_orders
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from minercdc.schema.table import TableId

_PLACEHOLDER: Final = re.compile(r"\$\{([^}:]*)(?::([^}]*))?\}")
_CASES: Final[Mapping[str | None, Callable[[str], str]]] = {None: str, "lower": str.lower, "upper": str.upper}


class CatalogNames:
    """The name of each table, by a template of parts with `.` between them: the namespaces, then the table.

    :param template: with `${database}`, `${schema}` and `${table}`, and `:lower` or `:upper` in them; None for the default.
    :param several: the connector captures several pluggable databases.
    :raises ValueError: two tables would have one name, the table would have no namespace, or the template has something else in braces.
    """

    def __init__(self, template: str | None, *, several: bool) -> None:
        default = "${database}.${schema}.${table}" if several else "${schema}.${table}"
        self._parts = (template or default).split(".")
        self._taken: dict[tuple[str, ...], TableId] = {}
        _check(self._parts, [*(["database"] if several else []), "schema", "table"])

    def path(self, table: TableId) -> list[str]:
        """Namespaces and name of a table. A dot in a name of Oracle's divides nothing.

        :raises ValueError: another table, whose name differs in its case alone, or in where its parts end, has that name already.
        """
        names = {"database": table.database, "schema": table.schema, "table": table.table}
        found = tuple(_PLACEHOLDER.sub(lambda match: _CASES[match[2]](names[match[1]]), part) for part in self._parts)
        other = self._taken.setdefault(found, table)
        if other != table:
            raise ValueError(
                f"{other} and {table} would both be {'.'.join(found)}; give minercdc.lake.catalog.table.name parts that tell them apart"
            )
        return list(found)


def _check(parts: list[str], needed: list[str]) -> None:
    template = ".".join(parts)
    used = set()
    for name, case in ((match[1], match[2]) for match in _PLACEHOLDER.finditer(template)):
        if name not in ("database", "schema", "table") or case not in _CASES:
            raise ValueError(
                "the placeholders are ${database}, ${schema} and ${table}, with :lower or :upper before the brace"
            )
        used.add(name)
    if missing := [name for name in needed if name not in used]:
        raise ValueError(f"without ${{{missing[0]}}} two tables would have one name")
    if len(parts) < 2 or not all(parts):
        raise ValueError("a table is in a namespace: the template has two parts or more, with a dot between them")
    if any(character in _PLACEHOLDER.sub("", template) for character in "${}`\"'/\\ "):
        raise ValueError("outside of its placeholders it has letters, digits, _ and - only")
