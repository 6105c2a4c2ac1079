"""The table, view or view of the database itself that a name in FROM stands for, directly or by synonyms.

Order of search: own objects, private synonyms, public synonyms, SYS's views (SQL Language Reference, Syntax for Schema Objects).
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError, View
from minercdc_sandbox.objects import StoredView
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.tables import Table

_DEPTH = 16


def find_relation(
    env: Environment, owner: str | None, name: str, at: int, privilege: str = "SELECT"
) -> Table | StoredView | View | None:
    """The table or view that a name stands for, on which the user has the privilege; None is DUAL. Of a temporary table the
    session's own copy, made at first use. `owner` None: by the order of search.

    Raises ORA-00942 for an object that the user may not see, ORA-01031 without `privilege` on it, ORA-00980 for a synonym of
    nothing, ORA-01775 for synonyms in a circle, ORA-01219 in a container that is not open for all but fixed views, with `at` as
    position.
    """
    first_owner, first_name = owner, name
    for _ in range(_DEPTH):
        place = owner or env.schema
        found = env.catalog.table(env.container, place, name) or env.catalog.view(env.container, place, name)
        if found is not None:
            env.require_open(at)
            env.allowed(privilege, found.owner, found.name, at)
            return env.private(found) if isinstance(found, Table) and found.temporary else found
        synonym = env.catalog.synonym(env.container, owner, env.schema, name)
        if synonym is None:
            break
        owner, name = synonym.table_owner, synonym.table_name
    else:
        raise OraError(1775, "looping chain of synonyms", at)
    if owner in (None, "SYS", "PUBLIC"):
        if name == "DUAL":
            return None
        for spelled in (name, name.replace("V_$", "V$", 1)):
            if spelled in env.views:
                if not spelled.startswith(("V$", "GV$")):
                    env.require_open(at)
                env.may_see(spelled, at)
                return env.views[spelled]
    env.require_open(at)
    if (first_owner, first_name) != (owner, name):
        raise OraError(980, "synonym translation is no longer valid", at)
    raise OraError(942, f'table or view "{first_owner or env.schema}"."{name}" does not exist', at)
