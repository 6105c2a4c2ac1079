"""Large values, and types that only a snapshot reads."""

from __future__ import annotations

from minercdc.operate.qualify.case import Bound, Case, Step, of_type

_TEXT = "it's a text of many lines;\n" * 400  # 10,800 characters
_LONGER = "".join(f"{number:07d}\n" for number in range(20_000))  # 160,000 characters
_BYTES = bytes(range(256)) * 40
_CREATE = "CREATE TABLE {{t}} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40), C {type})"


def _of_sizes(type_name: str, short: str, some: str | bytes, longer: str | bytes) -> Case:
    """A large value that is set beyond 4000 bytes, updated, cleared and left alone."""

    def bound(sql: str, value: str | bytes) -> Bound:
        return Bound(sql, value, type_name)

    return Case(
        f"{type_name} over 4000 bytes, set, updated and cleared",
        [_CREATE.format(type=type_name)],
        [bound("INSERT INTO {t} VALUES (0, 'before', :v)", some)],
        [
            Step(
                [
                    bound("INSERT INTO {t} VALUES (1, 'some', :v)", some),
                    bound("INSERT INTO {t} VALUES (2, 'longer', :v)", longer),
                    f"INSERT INTO {{t}} VALUES (3, 'short', {short})",
                    f"INSERT INTO {{t}} VALUES (4, 'empty', EMPTY_{'BLOB' if type_name == 'BLOB' else 'CLOB'}())",
                    "INSERT INTO {t} VALUES (5, 'none', NULL)",
                ],
                ["c 1", "c 2", "c 3", "c 4", "c 5"],
            ),
            Step(
                [
                    bound("UPDATE {t} SET C = :v WHERE ID = 1", longer),
                    f"UPDATE {{t}} SET C = {short} WHERE ID = 2",
                    bound("UPDATE {t} SET C = :v WHERE ID = 5", some),
                ],
                ["u 1", "u 2", "u 5"],
            ),
            Step(["UPDATE {t} SET V = 'left alone' WHERE ID IN (0, 1)"], ["u 0", "u 1"]),
            Step(["UPDATE {t} SET C = NULL WHERE ID IN (1, 3)"], ["u 1", "u 3"]),
            Step(["DELETE FROM {t} WHERE ID IN (0, 2)"], ["d 0", "d 2"]),
        ],
    )


CASES = (
    _of_sizes("CLOB", "'a short one'", _TEXT, _LONGER),
    _of_sizes("NCLOB", "N'a short one'", _TEXT, _LONGER),
    _of_sizes("BLOB", "HEXTORAW('00FF')", _BYTES, _BYTES * 16),
    Case(
        "CLOB written by DBMS_LOB",
        [_CREATE.format(type="CLOB")],
        (),
        [
            Step(
                [
                    "DECLARE l CLOB; BEGIN INSERT INTO {t} VALUES (1, 'appended', EMPTY_CLOB()) RETURNING C INTO l;"
                    " DBMS_LOB.WRITEAPPEND(l, 3000, RPAD('a', 3000, 'b')); DBMS_LOB.WRITEAPPEND(l, 3000, RPAD('c', 3000, 'd')); END;"
                ],
                ["c 1"],
            )
        ],
    ),
    Case(
        "CLOB undone by a savepoint",
        [_CREATE.format(type="CLOB")],
        (),
        [
            Step(
                [
                    Bound("INSERT INTO {t} VALUES (1, 'kept', :v)", _TEXT, "CLOB"),
                    "SAVEPOINT A",
                    Bound("UPDATE {t} SET C = :v WHERE ID = 1", _LONGER, "CLOB"),
                    Bound("INSERT INTO {t} VALUES (2, 'undone', :v)", _TEXT, "CLOB"),
                    "ROLLBACK TO SAVEPOINT A",
                    "INSERT INTO {t} VALUES (3, 'kept, too', 'short')",
                ],
                ["c 1", "c 3"],
            )
        ],
    ),
    Case(
        "key changed beside a CLOB",
        [_CREATE.format(type="CLOB")],
        [Bound("INSERT INTO {t} VALUES (1, 'moves', :v)", _TEXT, "CLOB")],
        [Step(["UPDATE {t} SET ID = 9 WHERE ID = 1"], ["d 1", "c 9"])],
    ),
    of_type("XMLTYPE", "XMLTYPE", ["XMLTYPE('<a>1</a>')", "XMLTYPE('<b x=\"y\">it''s</b>')"]),
    Case(
        "JSON, read by the snapshot",
        ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V JSON)"],
        ["INSERT INTO {t} VALUES (1, '{{\"a\": [1, true, null]}}')"],
    ),
    Case(
        "BOOLEAN, read by the snapshot",
        ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V BOOLEAN)"],
        ["INSERT INTO {t} VALUES (1, TRUE)", "INSERT INTO {t} VALUES (2, FALSE)", "INSERT INTO {t} VALUES (3, NULL)"],
    ),
    Case(
        "VECTOR, read by the snapshot",
        ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VECTOR(3, FLOAT32))"],
        ["INSERT INTO {t} VALUES (1, '[1, 2.5, -3]')"],
    ),
)
