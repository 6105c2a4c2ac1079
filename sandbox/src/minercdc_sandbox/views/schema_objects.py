"""Dictionary views of all objects, and of views, synonyms, sequences and identity columns."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.objects import Job, SchemaObject, Sequence, StoredProgram, StoredView, Synonym
from minercdc_sandbox.partitioning import TablePartition
from minercdc_sandbox.tables import Table
from minercdc_sandbox.views.family import forms
from minercdc_sandbox.views.shape import Row, date

_OBJECTS = (
    "OWNER V128, OBJECT_NAME V128, SUBOBJECT_NAME V128, OBJECT_ID N, DATA_OBJECT_ID N, OBJECT_TYPE V23, CREATED D, "
    "LAST_DDL_TIME D, TIMESTAMP V19, STATUS V7=VALID, TEMPORARY V1=N, GENERATED V1=N, SECONDARY V1=N, NAMESPACE N=1, "
    "EDITION_NAME V128, SHARING V18=NONE, EDITIONABLE V1, ORACLE_MAINTAINED V1=N, APPLICATION V1=N, "
    "DEFAULT_COLLATION V100, DUPLICATED V1=N, SHARDED V1=N"
)
_VIEWS = (
    "OWNER V128, VIEW_NAME V128, TEXT_LENGTH N, TEXT L, TEXT_VC V4000, TYPE_TEXT_LENGTH N, TYPE_TEXT V4000, "
    "OID_TEXT_LENGTH N, OID_TEXT V4000, VIEW_TYPE_OWNER V128, VIEW_TYPE V128, SUPERVIEW_NAME V128, EDITIONING_VIEW V1=N, "
    "READ_ONLY V1, CONTAINER_DATA V1=N, BEQUEATH V12=DEFINER, ORIGIN_CON_ID N"
)
_SYNONYMS = "OWNER V128, SYNONYM_NAME V128, TABLE_OWNER V128, TABLE_NAME V128, DB_LINK V128, ORIGIN_CON_ID N"
_SEQUENCES = (
    "SEQUENCE_OWNER V128, SEQUENCE_NAME V128, MIN_VALUE N, MAX_VALUE N, INCREMENT_BY N, CYCLE_FLAG V1, ORDER_FLAG V1, "
    "CACHE_SIZE N, LAST_NUMBER N, SCALE_FLAG V1=N, EXTEND_FLAG V1=N, SHARDED_FLAG V1=N, SESSION_FLAG V1=N, KEEP_VALUE V1=N"
)
_IDENTITY = "OWNER V128, TABLE_NAME V128, COLUMN_NAME V128, GENERATION_TYPE V10, SEQUENCE_NAME V128, IDENTITY_OPTIONS V298"


def _objects(catalog: Catalog, container: int) -> Iterator[Row]:
    for table in catalog.tables(container):
        yield from _table_objects(table)
    place = catalog.containers[container]
    made: list[SchemaObject] = [*place.views.values(), *place.synonyms.values(), *place.sequences.values()]
    made += [*place.programs.values(), *place.bodies.values(), *place.triggers.values(), *place.jobs.values()]
    for one in made:
        valid = not isinstance(one, (StoredView, StoredProgram)) or catalog.is_valid(one)
        yield {**_object(one), "STATUS": "VALID" if valid else "INVALID"}


_KINDS: dict[type, str] = {StoredView: "VIEW", Sequence: "SEQUENCE", Synonym: "SYNONYM", Job: "JOB"}
_NAMESPACES = {"PACKAGE BODY": 2, "TRIGGER": 3}


def _object(one: SchemaObject) -> Row:
    kind = one.kind if isinstance(one, StoredProgram) else _KINDS[type(one)]
    changed = one.last_ddl if isinstance(one, (StoredView, Sequence, StoredProgram)) else one.created
    return {
        "NAMESPACE": _NAMESPACES.get(kind, 1),
        "OWNER": one.owner,
        "OBJECT_NAME": one.name,
        "OBJECT_ID": one.object_id,
        "OBJECT_TYPE": kind,
        "CREATED": date(one.created),
        "LAST_DDL_TIME": date(changed),
    }


def _table_objects(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "OBJECT_NAME": table.name,
        "OBJECT_ID": table.object_id,
        "DATA_OBJECT_ID": None if table.partitioning else table.data_object_id,
        "OBJECT_TYPE": "TABLE",
        "CREATED": date(table.created),
        "LAST_DDL_TIME": date(table.last_ddl),
        "TEMPORARY": "Y" if table.temporary else "N",
        "DEFAULT_COLLATION": "USING_NLS_COMP",
    }
    for partition in table.partitioning.partitions if table.partitioning else ():
        yield _part_object(table, partition, "TABLE PARTITION", has_rows=partition.subpartitions is None)
        for one in partition.segments() if partition.subpartitions is not None else ():
            yield _part_object(table, one, "TABLE SUBPARTITION", has_rows=True)
    for index in table.indexes:
        yield {
            "OWNER": index.owner,
            "OBJECT_NAME": index.name,
            "OBJECT_ID": index.object_id,
            "DATA_OBJECT_ID": index.object_id,
            "OBJECT_TYPE": "INDEX",
            "CREATED": date(index.created),
            "LAST_DDL_TIME": date(index.created),
            "NAMESPACE": 4,
        }


def _part_object(table: Table, partition: TablePartition, kind: str, *, has_rows: bool) -> Row:
    return {
        "OWNER": table.owner,
        "OBJECT_NAME": table.name,
        "SUBOBJECT_NAME": partition.name,
        "OBJECT_ID": partition.object_id,
        "DATA_OBJECT_ID": partition.data_object_id if has_rows else None,
        "OBJECT_TYPE": kind,
        "CREATED": date(partition.created),
        "LAST_DDL_TIME": date(partition.created),
    }


def _views(catalog: Catalog, container: int) -> Iterator[Row]:
    for stored in catalog.containers[container].views.values():
        yield {
            "OWNER": stored.owner,
            "VIEW_NAME": stored.name,
            "TEXT_LENGTH": len(stored.text),
            "TEXT": stored.text,
            "TEXT_VC": stored.text[:4000],
            "READ_ONLY": "Y" if stored.read_only else "N",
            "ORIGIN_CON_ID": container,
        }


def _synonyms(catalog: Catalog, container: int) -> Iterator[Row]:
    for synonym in catalog.containers[container].synonyms.values():
        yield {
            "OWNER": synonym.owner,
            "SYNONYM_NAME": synonym.name,
            "TABLE_OWNER": synonym.table_owner,
            "TABLE_NAME": synonym.table_name,
            "ORIGIN_CON_ID": container,
        }


def _sequences(catalog: Catalog, container: int) -> Iterator[Row]:
    for sequence in catalog.containers[container].sequences.values():
        yield {
            "SEQUENCE_OWNER": sequence.owner,
            "SEQUENCE_NAME": sequence.name,
            "MIN_VALUE": sequence.minimum,
            "MAX_VALUE": sequence.maximum,
            "INCREMENT_BY": sequence.increment,
            "CYCLE_FLAG": "Y" if sequence.cycle else "N",
            "ORDER_FLAG": "Y" if sequence.ordered else "N",
            "CACHE_SIZE": sequence.cache,
            "LAST_NUMBER": sequence.cached_to,
        }


def _identity_columns(catalog: Catalog, container: int) -> Iterator[Row]:
    sequences = catalog.containers[container].sequences
    for table in catalog.tables(container):
        for column in table.columns:
            sequence = sequences.get((table.owner, f"ISEQ$$_{table.object_id}"))
            if column.identity is None or sequence is None:
                continue
            yield {
                "OWNER": table.owner,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": column.name,
                "GENERATION_TYPE": column.identity,
                "SEQUENCE_NAME": sequence.name,
                "IDENTITY_OPTIONS": _identity_options(sequence),
            }


def _identity_options(sequence: Sequence) -> str:
    flag = {True: "Y", False: "N"}
    return (
        f"START WITH: {sequence.start}, INCREMENT BY: {sequence.increment}, MAX_VALUE: {sequence.maximum}, "
        f"MIN_VALUE: {sequence.minimum}, CYCLE_FLAG: {flag[sequence.cycle]}, CACHE_SIZE: {sequence.cache}, "
        f"ORDER_FLAG: {flag[sequence.ordered]}"
    )


VIEWS: tuple[View, ...] = (
    *forms("OBJECTS", _OBJECTS, _objects, named="OBJECT_NAME"),
    *forms("VIEWS", _VIEWS, _views, named="VIEW_NAME"),
    *forms("SYNONYMS", _SYNONYMS, _synonyms, named="SYNONYM_NAME"),
    *forms("SEQUENCES", _SEQUENCES, _sequences, owner="SEQUENCE_OWNER", named="SEQUENCE_NAME"),
    *forms("TAB_IDENTITY_COLS", _IDENTITY, _identity_columns),
)
