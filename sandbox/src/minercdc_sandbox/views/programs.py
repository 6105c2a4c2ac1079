"""Views of stored programs, triggers and jobs; and those of `_SHAPES`, as types and materialized views, which are empty: JDBC's
DatabaseMetaData, SQLAlchemy and CDC connectors join them.

ALL_ERRORS is empty too, as a program that does not compile is not stored (sql/ddl/programs.py). CREATE TYPE and the like are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.objects import Trigger
from minercdc_sandbox.views.family import forms
from minercdc_sandbox.views.shape import Row, date, view

_SHAPES = {
    "TYPES": (
        "OWNER V128,TYPE_NAME V128,TYPE_OID R16,TYPECODE V128,ATTRIBUTES N,METHODS N,PREDEFINED V3,INCOMPLETE V3,FINAL V3,"
        "INSTANTIABLE V3,PERSISTABLE V3,SUPERTYPE_OWNER V128,SUPERTYPE_NAME V128,LOCAL_ATTRIBUTES N,LOCAL_METHODS N,TYPEID R16"
    ),
    "ARGUMENTS": (
        "OWNER V128,OBJECT_NAME V128,PACKAGE_NAME V128,OBJECT_ID N,OVERLOAD V40,SUBPROGRAM_ID N,ARGUMENT_NAME V128,POSITION N,"
        "SEQUENCE N,DATA_LEVEL N,DATA_TYPE V30,DEFAULTED V1,DEFAULT_VALUE V4000,DEFAULT_LENGTH N,IN_OUT V9,DATA_LENGTH N,"
        "DATA_PRECISION N,DATA_SCALE N,RADIX N,CHARACTER_SET_NAME V44,TYPE_OWNER V128,TYPE_NAME V128,TYPE_SUBNAME V128,"
        "TYPE_LINK V128,TYPE_OBJECT_TYPE V7,PLS_TYPE V128,CHAR_LENGTH N,CHAR_USED V1,ORIGIN_CON_ID N"
    ),
    "NESTED_TABLES": (
        "OWNER V128,TABLE_NAME V128,TABLE_TYPE_OWNER V128,TABLE_TYPE_NAME V128,PARENT_TABLE_NAME V128,PARENT_TABLE_COLUMN V4000,"
        "STORAGE_SPEC V30,RETURN_TYPE V20,ELEMENT_SUBSTITUTABLE V25"
    ),
    "TRIGGER_COLS": (
        "TRIGGER_OWNER V128,TRIGGER_NAME V128,TABLE_OWNER V128,TABLE_NAME V128,COLUMN_NAME V4000,COLUMN_LIST V3,COLUMN_USAGE V17"
    ),
    "MVIEWS": (
        "OWNER V128,MVIEW_NAME V128,CONTAINER_NAME V128,QUERY L,QUERY_LEN N,UPDATABLE V1,UPDATE_LOG V128,MASTER_ROLLBACK_SEG V128,"
        "MASTER_LINK V128,REWRITE_ENABLED V1,REWRITE_CAPABILITY V9,REFRESH_MODE V9,REFRESH_METHOD V8,BUILD_MODE V9,"
        "FAST_REFRESHABLE V18,LAST_REFRESH_TYPE V8,LAST_REFRESH_DATE D,STALENESS V19,COMPILE_STATE V19"
    ),
    "MVIEW_COMMENTS": "OWNER V128,MVIEW_NAME V128,COMMENTS V4000",
    "IND_EXPRESSIONS": (
        "INDEX_OWNER V128,INDEX_NAME V128,TABLE_OWNER V128,TABLE_NAME V128,COLUMN_EXPRESSION L,COLUMN_POSITION N"
    ),
    "DB_LINKS": "OWNER V128,DB_LINK V128,USERNAME V128,HOST V2000,CREATED D",
    "COL_PRIVS": (
        "GRANTOR V128,GRANTEE V128,TABLE_SCHEMA V128,TABLE_NAME V128,COLUMN_NAME V128,PRIVILEGE V40,GRANTABLE V3,COMMON V3,"
        "INHERITED V3"
    ),
}
"""Columns as in the Database Reference."""

_PROCEDURES = (
    "OWNER V128, OBJECT_NAME V128, PROCEDURE_NAME V128, OBJECT_ID N, SUBPROGRAM_ID N, OVERLOAD V40, OBJECT_TYPE V13, AGGREGATE V3=NO, "
    "PIPELINED V3=NO, IMPLTYPEOWNER V128, IMPLTYPENAME V128, PARALLEL V3=NO, INTERFACE V3=NO, DETERMINISTIC V3=NO, AUTHID V12=DEFINER"
)
_TRIGGERS = (
    "OWNER V128, TRIGGER_NAME V128, TRIGGER_TYPE V16, TRIGGERING_EVENT V246, TABLE_OWNER V128, "
    "BASE_OBJECT_TYPE V18=TABLE, TABLE_NAME V128, COLUMN_NAME V4000, REFERENCING_NAMES V422, WHEN_CLAUSE V4000, STATUS V8, "
    "DESCRIPTION V4000, ACTION_TYPE V11=PL/SQL, TRIGGER_BODY L"
)
_SOURCE = "OWNER V128, NAME V128, TYPE V12, LINE N, TEXT V4000, ORIGIN_CON_ID N"
_ERRORS = "OWNER V128, NAME V128, TYPE V12, SEQUENCE N, LINE N, POSITION N, TEXT V4000, ATTRIBUTE V9, MESSAGE_NUMBER N"
_JOBS = (
    "OWNER V128, JOB_NAME V128, JOB_STYLE V17=REGULAR, JOB_TYPE V16, JOB_ACTION V4000, NUMBER_OF_ARGUMENTS N=0, SCHEDULE_TYPE V12, "
    "REPEAT_INTERVAL V4000, ENABLED V5, AUTO_DROP V5, STATE V20, RUN_COUNT N, FAILURE_COUNT N, LAST_START_DATE D, COMMENTS V4000"
)


def _procedures(catalog: Catalog, container: int) -> Iterator[Row]:
    """.._PROCEDURES: packages, functions and procedures as a whole, not each subprogram of a package."""
    for one in catalog.containers[container].programs.values():
        yield {
            "OWNER": one.owner,
            "OBJECT_NAME": one.name,
            "OBJECT_ID": one.object_id,
            "SUBPROGRAM_ID": 0 if one.kind == "PACKAGE" else 1,
            "OBJECT_TYPE": one.kind,
        }


def _triggers(catalog: Catalog, container: int) -> Iterator[Row]:
    for one in catalog.containers[container].triggers.values():
        table = catalog.table_of(one.table_id)
        head, body = _parts(one)
        yield {
            "OWNER": one.owner,
            "TRIGGER_NAME": one.name,
            "TRIGGER_TYPE": f"{one.timing} {'EACH ROW' if one.of_rows else 'STATEMENT'}",
            "TRIGGERING_EVENT": " OR ".join(one.events),
            "TABLE_OWNER": table.owner if table is not None else None,
            "TABLE_NAME": (table.dropped_as or table.name) if table is not None else None,
            "REFERENCING_NAMES": f"REFERENCING NEW AS {one.new} OLD AS {one.old}",
            "WHEN_CLAUSE": one.when[1:-1] if one.when is not None else None,
            "STATUS": "ENABLED" if one.enabled else "DISABLED",
            "DESCRIPTION": head,
            "TRIGGER_BODY": body,
        }


def _parts(trigger: Trigger) -> tuple[str, str]:
    """DESCRIPTION and TRIGGER_BODY: the trigger's text after the word TRIGGER up to its first BEGIN or DECLARE, and from there on."""
    words = trigger.text.split(None, 1)[1]
    found = [at for word in ("declare", "begin") if (at := words.lower().find(word)) >= 0]
    return words[: min(found)], words[min(found) :]


def _source(catalog: Catalog, container: int) -> Iterator[Row]:
    place = catalog.containers[container]
    for one in (*place.programs.values(), *place.bodies.values(), *place.triggers.values()):
        for number, line in enumerate(one.text.splitlines(keepends=True), 1):
            yield {
                "OWNER": one.owner,
                "NAME": one.name,
                "TYPE": one.kind,
                "LINE": number,
                "TEXT": line,
                "ORIGIN_CON_ID": container,
            }


def _jobs(catalog: Catalog, container: int) -> Iterator[Row]:
    for job in catalog.containers[container].jobs.values():
        yield {
            "OWNER": job.owner,
            "JOB_NAME": job.name,
            "JOB_TYPE": job.kind,
            "JOB_ACTION": job.action,
            "SCHEDULE_TYPE": "CALENDAR" if job.repeat is not None else "IMMEDIATE",
            "REPEAT_INTERVAL": job.repeat,
            "ENABLED": str(job.enabled).upper(),
            "AUTO_DROP": str(job.auto_drop).upper(),
            "STATE": "RUNNING" if job.running else "SCHEDULED" if job.enabled else "DISABLED",
            "RUN_COUNT": job.runs,
            "FAILURE_COUNT": job.failures,
            "LAST_START_DATE": date(job.last_run) if job.last_run is not None else None,
            "COMMENTS": job.comments,
        }


VIEWS: tuple[View, ...] = (
    *(view(f"{scope}_{name}", text, lambda _: ()) for name, text in _SHAPES.items() for scope in ("ALL", "DBA")),
    *forms("PROCEDURES", _PROCEDURES, _procedures, named="OBJECT_NAME"),
    *forms("TRIGGERS", _TRIGGERS, _triggers, named="TRIGGER_NAME"),
    *forms("SOURCE", _SOURCE, _source, named="NAME"),
    *forms("ERRORS", _ERRORS, lambda catalog, container: (), named="NAME"),
    *forms("SCHEDULER_JOBS", _JOBS, _jobs, named="JOB_NAME"),
)
