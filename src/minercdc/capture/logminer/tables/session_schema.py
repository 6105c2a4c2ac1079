"""Finds the schema of an unqualified name in DDL: the session's current schema, which redo does not contain.

SEG_OWNER    schema of the DDL's target, or of its index: the current one where the text names no schema for it
USERNAME     the session's user: its schema is the current one until ALTER SESSION SET CURRENT_SCHEMA
"""

from __future__ import annotations

from minercdc.capture.logminer.session.row import LogMinerRow


def current_schemas(row: LogMinerRow, *targets: str | None) -> tuple[str, ...]:
    """The schemas that may have been the session's current one at a DDL, the most likely first.

    :param targets: what the text gives as schemas of the names that SEG_OWNER may be the schema of; None for a name without one.
    """
    owner, user = row.owner or "", row.user or ""
    given = [schema for schema in targets if schema is not None]
    if not given:
        return (owner or user,)
    if owner and owner not in given and len(given) < len(targets):
        return (owner,)  # it is that of the name without a schema
    return tuple(dict.fromkeys(schema for schema in (user, owner, *given) if schema)) or ("",)
