"""The forms of a dictionary view: DBA_ of the container, CDB_ of all containers, ALL_ of the objects that the user may see, USER_
of the user's own objects. CDB_ shows in a PDB the rows of that PDB.

USER_ leaves the OWNER column out, but of constraints and log groups, CDB_ adds CON_ID; the recycle bin has no ALL_ form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.objects import StoredView
from minercdc_sandbox.sql.privileges import ANY, grants_of
from minercdc_sandbox.tables import Table
from minercdc_sandbox.view_session import ViewSession, sees
from minercdc_sandbox.views.shape import Row, view

TableRows: TypeAlias = Callable[[Table], Iterable[Row]]
PlaceRows: TypeAlias = Callable[[Catalog, int], Iterable[Row]]
"""Rows of one container."""


def family(
    name: str,
    text: str,
    rows: TableRows,
    *,
    owner: str = "OWNER",
    recycled: bool = False,
    views: bool = False,
    owned: bool = False,
) -> list[View]:
    """The forms of a view whose rows come from tables, see `forms`; `rows` is called with each table.

    :param recycled: the tables of the recycle bin instead, without ALL_.
    :param views: rows of views too, as if they were tables.
    :param owned: as of `forms`.
    """

    def of_place(catalog: Catalog, container: int) -> Iterator[Row]:
        for table in catalog.dropped(container) if recycled else catalog.tables(container):
            yield from rows(table)
        for stored in catalog.containers[container].views.values() if views else ():
            yield from rows(_as_table(stored))

    return forms(name, text, of_place, owner=owner, everybody=not recycled, owned=owned)


def _as_table(view: StoredView) -> Table:
    facts = (view.container, view.owner, view.name, view.object_id, view.object_id)
    return Table(*facts, view.shape, view.created, view.last_ddl, 0, is_view=True)


def forms(
    name: str,
    text: str,
    rows: PlaceRows,
    *,
    owner: str = "OWNER",
    named: str = "TABLE_NAME",
    everybody: bool = True,
    owned: bool = False,
) -> list[View]:
    """The views `ALL_`, `DBA_`, `CDB_` and `USER_` with this `name`, whose columns are `text`, see `views.shape`; USER_ has no
    `owner` column unless it is `owned`. `rows` is called again for each scan.

    :param owner: the column with the owner.
    :param named: the column with the object on which a user must have a privilege to see the row in ALL_.
    :param everybody: whether there is an ALL_ form.
    """

    def here(session: ViewSession) -> Iterator[Row]:
        yield from rows(session.catalog, session.container)

    def own(session: ViewSession) -> Iterator[Row]:
        for row in here(session):
            if row[owner] == session.user:
                yield {key: value for key, value in row.items() if owned or key != owner}

    def seen(session: ViewSession) -> Iterator[Row]:
        catalog, container = session.catalog, session.container
        may = _visible(catalog, container, session.user)
        for row in rows(catalog, container):
            if may(str(row[owner]), str(row.get(named))):
                yield row

    def everywhere(session: ViewSession) -> Iterator[Row]:
        catalog = session.catalog
        for container in catalog.containers:
            if not sees(session, container):
                continue
            for row in rows(catalog, container):
                yield {**row, "CON_ID": container}

    own_text = text if owned else text.replace(f"{owner} V128, ", "", 1)
    found = [view(f"DBA_{name}", text, here), view(f"CDB_{name}", f"{text}, CON_ID N", everywhere)]
    found.append(view(f"USER_{name}", own_text, own))
    return [view(f"ALL_{name}", text, seen), *found] if everybody else found


def _visible(catalog: Catalog, container: int, user: str) -> Callable[[str, str], bool]:
    """A test of (owner, name): whether the user may see the object: an own one, one of PUBLIC, one with a privilege on it, or,
    for SYS, SYSTEM and with an ANY privilege, all. Privileges are as at this call."""
    grants = grants_of(catalog, container, user)
    system = {grant.privilege for grant in grants if grant.object is None}
    anything = {"DBA", "ALL PRIVILEGES", *(one for many in ANY.values() for one in many)}
    if user in ("SYS", "SYSTEM") or system & anything:
        return lambda owner, name: True
    objects = {grant.object for grant in grants if grant.object is not None}
    return lambda owner, name: owner in (user, "PUBLIC") or f"{owner}.{name}" in objects
