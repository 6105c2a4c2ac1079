"""SQLAlchemy's Oracle dialect and pandas on top of it, unmodified, against both profiles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import oracle
from tests.fixtures.fix_sandbox import SandboxProcess

METADATA = sa.MetaData()
CUSTOMERS = sa.Table(
    "customers",
    METADATA,
    sa.Column("id", sa.Integer, sa.Identity(start=1), primary_key=True),
    sa.Column("name", sa.String(50), nullable=False, comment="as written"),
    sa.Column("email", sa.String(100), unique=True),
    sa.Column("balance", sa.Numeric(12, 2)),
    sa.Column("note", sa.Text),
    sa.Column("picture", sa.LargeBinary),
    sa.CheckConstraint("balance > -100", name="ck_balance"),
    comment="who buys",
)
ORDERS = sa.Table(
    "orders",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("customer", sa.ForeignKey("customers.id", name="fk_customer", ondelete="CASCADE")),
    sa.Column("made", sa.TIMESTAMP(timezone=True)),
    sa.Index("ix_made", "made", "customer"),
)


@pytest.fixture(scope="module")
def engine(server: SandboxProcess) -> Iterator[sa.Engine]:
    with server.connect() as administrator:
        administrator.cursor().execute("grant create view to app")
    engine = sa.create_engine("oracle+oracledb://", creator=lambda: server.connect("app", "app"))
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("create view named as select id, name from customers"))
    yield engine
    engine.dispose()


def names(found: Any) -> Any:
    return sorted(one["name"] for one in found)


def test_reflection_of_a_table(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert (inspector.get_table_names(), inspector.get_view_names()) == (["customers", "orders"], ["named"])
    assert (inspector.get_materialized_view_names(), inspector.get_temp_table_names()) == ([], [])
    columns = {column["name"]: column for column in inspector.get_columns("customers")}
    assert [str(column["type"]) for column in columns.values()] == [
        *("INTEGER", "VARCHAR(50)", "VARCHAR(100)", "NUMBER", "CLOB", "BLOB"),
    ]
    assert (columns["name"]["nullable"], columns["name"]["comment"], "identity" in columns["id"]) == (
        False,
        "as written",
        True,
    )
    assert inspector.get_pk_constraint("customers")["constrained_columns"] == ["id"]
    (key,) = inspector.get_foreign_keys("orders")
    assert (key["name"], key["referred_table"], key["options"]) == ("fk_customer", "customers", {"ondelete": "CASCADE"})
    assert [(index["name"], index["column_names"]) for index in inspector.get_indexes("orders")] == [
        ("ix_made", ["made", "customer"])
    ]
    assert [one["column_names"] for one in inspector.get_unique_constraints("customers")] == [["email"]]
    assert names(inspector.get_check_constraints("customers")) == ["ck_balance"]
    assert inspector.get_table_comment("customers") == {"text": "who buys"}
    assert names(inspector.get_columns("named")) == ["id", "name"]
    assert inspector.get_view_definition("named") == "select id, name from customers"


def test_a_whole_schema_is_reflected(engine: sa.Engine) -> None:
    reflected = sa.MetaData()
    reflected.reflect(engine, views=True, schema="app")
    assert sorted(reflected.tables) == ["app.customers", "app.named", "app.orders"]
    inspector = sa.inspect(engine)
    for question in ("columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints"):
        assert len(getattr(inspector, f"get_multi_{question}")()) == 2
    assert inspector.has_index("orders", "ix_made")
    assert not inspector.has_table("nowhere")


def test_rows_and_isolation(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
        kept = connection.execute(sa.insert(CUSTOMERS).values(name="a", balance=1.5, note="n", picture=b"p"))
        assert kept.inserted_primary_key is not None
        made = connection.execute(sa.insert(CUSTOMERS).returning(CUSTOMERS.c.name), [{"name": "b"}, {"name": "c"}])
        assert [row[0] for row in made] == ["b", "c"]
        connection.execute(
            sa.insert(ORDERS).values(id=1, customer=kept.inserted_primary_key[0], made=dt.datetime(2026, 1, 2))
        )
        joined = sa.select(CUSTOMERS.c.name, CUSTOMERS.c.note, ORDERS.c.id).join(ORDERS).limit(1)
        assert connection.execute(joined).fetchall() == [("a", "n", 1)]
        connection.rollback()
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        connection.execute(sa.text("select 1 from dual"))
        assert connection.get_isolation_level() == "SERIALIZABLE"


def test_set_operations_count_equal_rows_since_21c(engine: sa.Engine) -> None:
    left = "select mod(level, 2) from dual connect by level <= 5"
    right = "select 1 from dual connect by level <= 2"
    with engine.connect() as connection:
        if connection.dialect.server_version_info < (21,):  # type: ignore[operator]
            with pytest.raises(sa.exc.DatabaseError, match="ORA-00928"):
                connection.execute(sa.text(f"{left} except all {right}"))
            return
        found = {
            op: sorted(connection.execute(sa.text(f"{left} {op} {right}")).scalars())
            for op in ("except all", "minus all", "intersect all", "except", "intersect")
        }
    assert found == {
        **{"except all": [0, 0, 1], "minus all": [0, 0, 1], "intersect all": [1, 1]},
        **{"except": [0], "intersect": [1]},
    }


def test_a_frame_goes_in_and_comes_back(engine: sa.Engine) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "name": ["a", "b", None],
            "value": [1.5, 2.5, float("nan")],
            "made": [dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 2, 3, 4, 5), None],
        }
    )
    kinds = {"value": oracle.BINARY_DOUBLE, "name": sa.String(20)}  # pandas' own FLOAT(53) is not Oracle's
    for exists in ("fail", "replace"):
        frame.to_sql("frame", engine, index=False, if_exists=exists, dtype=kinds)
    pd.testing.assert_frame_equal(pd.read_sql_table("frame", engine), frame, check_dtype=False)
    frame.to_sql("frame", engine, index=False, if_exists="append", chunksize=2, dtype=kinds)
    counted = pd.read_sql_query(
        "select name, count(*) as n from frame where name is not null group by name order by 1", engine
    )
    assert counted.to_dict("list") == {"name": ["a", "b"], "n": [2, 2]}
    with engine.begin() as connection:
        connection.execute(sa.text("drop table frame purge"))


def test_locks_and_names_of_the_database(server: SandboxProcess) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table locked (id number)")
        cursor.execute("insert into locked values (1)")
        cursor.execute("""
            select l.type, l.lmode, l.request, o.object_name from v$lock l left join dba_objects o on o.object_id = l.id1
            where l.sid = sys_context('userenv', 'sid') order by 1""")
        assert cursor.fetchall() == [("TM", 3, 0, "LOCKED"), ("TX", 6, 0, None)]
        cursor.execute("select name, (select global_name from global_name) from v$database")
        assert cursor.fetchone() == (connection.db_name, "ORCLPDB1")
        cursor.execute("select value from v$parameter where name = 'db_name'")
        assert cursor.fetchone() == (connection.db_name,)
        connection.rollback()
        cursor.execute("drop table locked purge")
