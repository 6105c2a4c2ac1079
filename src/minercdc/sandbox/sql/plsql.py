"""PL/SQL blocks that clients send: variables, procedure calls, assignments, SELECT INTO, OPEN FOR, transaction control and
plain SQL between BEGIN and END."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from minercdc.sandbox.interfaces import Argument, BindType, Cell, OraError, OraType, Result
from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.block_locals import without_locals
from minercdc.sandbox.sql.convert import Conversion, convert
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.sql.privileges import may_execute
from minercdc.sandbox.sql.tokens import Token
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import Family, bind_type

_WIRE = {
    Family.NUMBER: OraType.NUMBER,
    Family.CHAR: OraType.VARCHAR2,
    Family.VARCHAR: OraType.VARCHAR2,
    Family.NULL: OraType.VARCHAR2,
    Family.DATE: OraType.DATE,
    Family.TIMESTAMP: OraType.TIMESTAMP,
    Family.ZONED: OraType.TIMESTAMP_TZ,
    Family.LOCAL: OraType.TIMESTAMP_LTZ,
    Family.INTERVAL: OraType.INTERVAL_DS,
    Family.MONTHS: OraType.INTERVAL_YM,
    Family.FLOAT: OraType.BINARY_FLOAT,
    Family.DOUBLE: OraType.BINARY_DOUBLE,
    Family.RAW: OraType.RAW,
    Family.ROWID: OraType.ROWID,
    Family.CLOB: OraType.CLOB,
    Family.BLOB: OraType.BLOB,
    Family.XML: OraType.XMLTYPE,
    Family.BOOLEAN: OraType.BOOLEAN,
    Family.JSON: OraType.JSON,
    Family.VECTOR: OraType.VECTOR,
}
_SQL = frozenset(["INSERT", "UPDATE", "DELETE", "LOCK", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET"])
_CONTROL = frozenset(
    [
        "IF",
        "LOOP",
        "FOR",
        "WHILE",
        "CASE",
        "DECLARE",
        "EXECUTE",
        "FETCH",
        "CLOSE",
        "RAISE",
        "RETURN",
        "GOTO",
        "EXIT",
        "FORALL",
    ]
)


def _located(sql: str, at: int, text: str) -> OraError:
    """ORA-06550 with PL/SQL's own error, by line and column."""
    line = sql.count("\n", 0, at) + 1
    column = at - (sql.rfind("\n", 0, at) + 1) + 1
    return OraError(
        6550,
        f"line {line}, column {column}:\n{text}\nORA-06550: line {line}, column {column}:\nPL/SQL: Statement ignored",
        at,
    )


def run(session: SqlSession, sql: str, bind_types: Sequence[BindType], binds: tuple[Cell, ...]) -> Result:
    """Run a block or CALL; the result has its OUT binds. Raises ORA-06550 with PLS- text for what it does not know; an error undoes the block."""
    plain = without_locals(sql)
    clients = len(plain.binds) - len(plain.variables)
    if clients > len(binds):
        raise OraError(1008, "not all variables bound")
    parser = Parser(plain.sql, by_name=True)
    parser.binds = list(plain.binds)
    kinds = [*bind_types[:clients], *plain.variables]
    block = _Block(session, parser, kinds, binds[:clients] + (None,) * len(plain.variables), clients)
    with session.storage.lock:
        mark = session.mark()
        transaction = session.client.transaction
    try:
        if parser.word("CALL"):
            block.call()
        else:
            block.body()
    except OraError:
        with session.storage.lock:
            # After a COMMIT in the block, what came after it is undone.
            same = session.client.transaction is transaction
            session.storage.undo_to(session.client, mark if same else 0)
        raise
    return block.result()


class _Block:
    """One run of one block."""

    def __init__(
        self, session: SqlSession, parser: Parser, bind_types: Sequence[BindType], binds: tuple[Cell, ...], clients: int
    ) -> None:
        self._session, self._parser, self._bind_types = session, parser, bind_types
        self._binds = list(binds)
        self._clients = clients
        """Binds behind these are the block's variables."""
        self._out: set[int] = set()
        self._given: dict[int | str, int] = {}
        self._cursors: dict[int, Result] = {}
        self._implicit: list[Result] = []
        self._written: set[int] = set()
        """Places of binds that INTO and OPEN write."""

    def result(self) -> Result:
        """Values of the binds that were assigned; those never read are pure OUT."""
        tokens = self._parser.tokens
        read = {
            token.text
            for n, token in enumerate(tokens)
            if token.kind == "B" and n not in self._written and tokens[n + 1].text != ":="  # the last token is the end
        }
        out = [index for index in self._out if index < self._clients]
        out_only = frozenset(index for index in out if self._parser.binds[index] not in read)
        values = {index: self._cursors.get(index, self._binds[index]) for index in out}
        return Result(out=values, out_only=out_only, implicit=self._implicit)

    def _assignment(self) -> None:
        """`:bind := expression;`"""
        parser = self._parser
        target = parser.bind(parser.take())
        if not parser.op(":="):
            raise _located(parser.sql, parser.token.start, f'PLS-00103: Encountered the symbol "{parser.token.text}"')
        self._check_bind(target.index)
        value = parser.expr()
        self._semicolon()
        if isinstance(value, ast.Bind) and value.index in self._cursors:
            self._set_cursor(target.index, self._cursors[value.index], target.at)
        else:
            self._assign(target.index, self._value(value))

    def _set_cursor(self, index: int, cursor: Result, at: int) -> None:
        if self._bind_types[index].type is not OraType.CURSOR:
            raise _located(self._parser.sql, at, "PLS-00382: expression is of wrong type")
        self._cursors[index] = cursor
        self._out.add(index)

    def _open(self) -> None:
        """`OPEN :cursor FOR SELECT ..;` or FOR an expression that is the query's text."""
        parser = self._parser
        parser.take()
        if parser.token.kind != "B":
            raise self._unknown(parser.token, "OPEN of a declared cursor")
        self._written.add(parser.at)
        target = parser.bind(parser.take())
        self._check_bind(target.index)
        parser.expect_word("FOR")
        if parser.is_word("SELECT") or parser.is_word("WITH") or parser.token.text == "(":
            result = self._plain(*self._text())
        else:
            text = self._value(parser.expr())
            if parser.token.text != ";":
                raise self._unknown(parser.token, f"{parser.token.text} in OPEN")
            self._semicolon()
            result = self._session.execute(str(text.value or ""))
        self._set_cursor(target.index, result, target.at)

    def _select_into(self) -> None:
        """`SELECT .. INTO :a, :b FROM ..;`: exactly one row."""
        text, used, into = self._text(into=True)
        if not into:
            raise _located(
                self._parser.sql, self._parser.token.start, "PLS-00428: an INTO clause is expected in this SELECT statement"
            )
        result = self._plain(text, used)
        if result.rows is None or result.columns is None:
            raise OraError(600, "internal error code: a query without rows")
        rows = result.rows.fetch(2)
        result.rows.close()
        if len(into) != len(result.columns):
            raise OraError(
                947 if len(into) > len(result.columns) else 913,
                "not enough values" if len(into) > len(result.columns) else "too many values",
            )
        if len(rows) != 1:
            missing = not rows
            raise OraError(
                1403 if missing else 1422,
                "no data found" if missing else "exact fetch returns more than requested number of rows",
            )
        for index, cell, column in zip(into, rows[0], result.columns, strict=True):
            self._assign(index, Argument(cell, column.type))

    def _assign(self, index: int, argument: Argument) -> None:
        bind = self._bind_types[index]
        env = self._session.environment
        how = Conversion(env.nls, date.fromtimestamp(self._session.storage.clock.now()), env.lobs)
        source = bind_type(BindType(argument.type, 4000))
        fit = convert(source, bind_type(bind).family, how)
        cell = argument.value if fit is None else fit(argument.value)
        if isinstance(cell, str) and 0 < bind.size < len(cell.encode()):
            raise OraError(6502, "PL/SQL: numeric or value error: character string buffer too small")
        self._binds[index] = cell
        self._out.add(index)

    def body(self) -> None:
        parser = self._parser
        if parser.is_word("DECLARE"):
            raise self._unknown(parser.token, "DECLARE")
        parser.expect_word("BEGIN")
        while not parser.is_word("END"):
            self._statement()
        parser.take()
        if parser.token.kind in "WQ":
            parser.take()
        if not parser.op(";"):
            raise _located(
                parser.sql, parser.token.start, 'PLS-00103: Encountered the symbol "end-of-file" when expecting ";"'
            )
        parser.op("/")
        if parser.token.kind != "E":
            raise _located(parser.sql, parser.token.start, f'PLS-00103: Encountered the symbol "{parser.token.text}"')

    def _unknown(self, token: Token, what: str) -> OraError:
        return _located(self._parser.sql, token.start, f"PLS-00103: the sandbox does not run {what} in PL/SQL")

    def _statement(self) -> None:
        parser = self._parser
        token = parser.token
        if token.kind == "E":
            raise _located(parser.sql, token.start, 'PLS-00103: Encountered the symbol "end-of-file"')
        if parser.word("NULL"):
            self._semicolon()
        elif token.kind == "W" and token.text == "BEGIN":
            self.body()
        elif token.kind == "W" and token.text in _SQL:
            self._sql()
        elif token.kind == "W" and token.text in ("SELECT", "WITH"):
            self._select_into()
        elif token.kind == "W" and token.text == "OPEN":
            self._open()
        elif token.kind == "B":
            self._assignment()
        elif (token.kind == "W" and token.text in _CONTROL) or token.kind not in "WQ":
            raise self._unknown(token, token.text)
        else:
            self.call()

    def _semicolon(self) -> None:
        if not self._parser.op(";"):
            token = self._parser.token
            raise _located(
                self._parser.sql, token.start, f'PLS-00103: Encountered the symbol "{token.text}" when expecting ";"'
            )

    def _sql(self) -> None:
        """A plain SQL statement up to its semicolon, with the binds it names."""
        text, used, _ = self._text()
        result = self._plain(text, used)
        if result.return_binds:
            self._returned(result, [used[at] for at in result.return_binds])

    def _text(self, *, into: bool = False) -> tuple[str, list[int], list[int]]:
        """Text up to the semicolon and the binds it names; with `into`, INTO and its targets are taken out of it."""
        parser = self._parser
        start = parser.token.start
        pieces: list[str] = []
        used: list[int] = []
        targets: list[int] = []
        depth = 0
        while parser.token.text != ";" or parser.token.kind != "O":
            token = parser.take()
            if token.kind == "E":
                raise _located(parser.sql, token.start, 'PLS-00103: Encountered the symbol "end-of-file"')
            depth += (token.text == "(") - (token.text == ")") if token.kind == "O" else 0
            if into and not targets and depth == 0 and token.kind == "W" and token.text == "INTO":
                pieces.append(parser.sql[start : token.start])
                targets = self._targets()
                start = parser.token.start
            elif token.kind == "B":
                used.append(parser.bind(token).index)
        text = "".join(pieces) + parser.sql[start : parser.token.start]
        self._semicolon()
        for index in used + targets:
            self._check_bind(index)
        return text, used, targets

    def _targets(self) -> list[int]:
        """Binds behind INTO."""
        parser = self._parser
        found: list[int] = []
        while not found or parser.op(","):
            if parser.token.kind != "B":
                raise self._unknown(parser.token, f"INTO {parser.token.text}")
            self._written.add(parser.at)
            found.append(parser.bind(parser.take()).index)
        return found

    def _plain(self, text: str, used: Sequence[int], _: Sequence[int] = ()) -> Result:
        kinds = [self._bind_types[index] for index in used]
        return self._session.execute(text, kinds, [tuple(self._binds[index] for index in used)])

    def _returned(self, result: Result, targets: Sequence[int]) -> None:
        """RETURNING INTO in a block: exactly one row, or NULLs when none was affected."""
        [rows] = result.returned
        if len(rows) > 1:
            raise OraError(1422, "exact fetch returns more than requested number of rows")
        for n, index in enumerate(targets):
            self._binds[index] = rows[0][n] if rows else None
            self._out.add(index)

    def _check_bind(self, index: int) -> None:
        if index >= len(self._bind_types) or index >= len(self._binds):
            raise OraError(1008, "not all variables bound")

    def call(self) -> None:
        """`[SYS.]package.procedure[(arguments)];`"""
        parser = self._parser
        start = parser.token
        parts = [parser.name()]
        while parser.op("."):
            parts.append(parser.name())
        name = ".".join(parts[1:] if parts[0] == "SYS" else parts)
        if name == "DBMS_SQL.RETURN_RESULT":
            self._return_result()
            return
        positional: list[Argument] = []
        named: dict[str, Argument] = {}
        self._given = {}
        if parser.op("("):
            while not parser.op(")"):
                self._argument(positional, named)
                if parser.token.text != ")":
                    parser.expect_op(",")
        if parser.token.text == ":=":
            raise self._unknown(parser.token, "an assignment")
        if parser.token.kind != "E":
            self._semicolon()
        procedure = self._session.database.procedures.get(name)
        session = self._session
        if procedure is None or not may_execute(
            session.catalog, session.container, session.user, parts[0 if parts[0] != "SYS" else 1]
        ):
            raise _located(parser.sql, start.start, f"PLS-00201: identifier '{'.'.join(parts)}' must be declared")
        for place, argument in (procedure(self._session, positional, named) or {}).items():
            if place not in self._given:
                raise _located(
                    *(parser.sql, start.start),
                    f"PLS-00363: expression '{place}' cannot be used as an assignment target",
                )
            self._assign(self._given[place], argument)

    def _return_result(self) -> None:
        """DBMS_SQL.RETURN_RESULT(cursor): an implicit result for the client (PL/SQL Packages and Types Reference)."""
        parser = self._parser
        parser.expect_op("(")
        cursor = parser.expr()
        if not isinstance(cursor, ast.Bind) or cursor.index not in self._cursors:
            raise _located(parser.sql, cursor.at, "PLS-00306: wrong number or types of arguments in call to 'RETURN_RESULT'")
        if not parser.op(")"):
            raise self._unknown(parser.token, "RETURN_RESULT to another client")
        self._semicolon()
        self._implicit.append(self._cursors[cursor.index])

    def _argument(self, positional: list[Argument], named: dict[str, Argument]) -> None:
        parser = self._parser
        if parser.token.kind in "WQ" and parser.peek().text == "=>":
            name = parser.take().text
            parser.take()
            expr = parser.expr()
            self._note_bind(name, expr)
            named[name] = self._value(expr)
        elif named:
            raise _located(
                parser.sql,
                parser.token.start,
                "PLS-00312: a positional parameter association may not follow a named association",
            )
        else:
            expr = parser.expr()
            self._note_bind(len(positional), expr)
            positional.append(self._value(expr))

    def _note_bind(self, place: int | str, expr: ast.Expr) -> None:
        """Remember the bind that an OUT parameter would be assigned to."""
        if isinstance(expr, ast.Bind):
            self._given[place] = expr.index

    def _value(self, expr: ast.Expr) -> Argument:
        """An argument; package constants and sums of them are numbers."""
        if isinstance(expr, ast.Bind):
            self._check_bind(expr.index)
            return Argument(self._binds[expr.index], self._bind_types[expr.index].type)
        constant = self._constant(expr)
        if constant is not None:
            return Argument(number.encode(constant), OraType.NUMBER)
        if isinstance(expr, ast.Name) and expr.parts in (("TRUE",), ("FALSE",)):
            return Argument(number.integer(int(expr.parts == ("TRUE",))), OraType.NUMBER)
        if isinstance(expr, ast.Name) and len(expr.parts) > 1:
            shown = ".".join(expr.parts)
            raise _located(self._parser.sql, expr.at, f"PLS-00201: identifier '{shown}' must be declared")
        x = Expressions(self._session.environment, self._bind_types)
        typed = x.value(expr, None)
        cell = self._session.evaluate(typed.sql, x.parameters, self._session.run(tuple(self._binds)))
        return Argument(cell, _WIRE[typed.type.family])

    def _constant(self, expr: ast.Expr) -> Decimal | None:
        if isinstance(expr, ast.Name):
            parts = expr.parts[1:] if expr.parts[0] == "SYS" else expr.parts
            value = self._session.database.constants.get(".".join(parts))
            return None if value is None else Decimal(value)
        if isinstance(expr, ast.Literal) and expr.kind == "N":
            return number.decode(number.parse(expr.text))
        if isinstance(expr, ast.Binary) and expr.op in "+-":
            left, right = self._constant(expr.left), self._constant(expr.right)
            if left is not None and right is not None:
                return left + right if expr.op == "+" else left - right
        return None
