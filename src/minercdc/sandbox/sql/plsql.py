"""PL/SQL blocks that clients send: procedure calls, assignments to binds, NULL, transaction control and plain SQL between BEGIN
and END."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from minercdc.sandbox.interfaces import Argument, BindType, Cell, OraError, OraType, Result
from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.convert import Conversion, convert
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.statements import Parser
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
        "OPEN",
        "FETCH",
        "CLOSE",
        "RAISE",
        "RETURN",
        "GOTO",
        "EXIT",
        "FORALL",
        "SELECT",
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
    parser = Parser(sql, by_name=True)
    block = _Block(session, parser, bind_types, binds)
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

    def __init__(self, session: SqlSession, parser: Parser, bind_types: Sequence[BindType], binds: tuple[Cell, ...]) -> None:
        self._session, self._parser, self._bind_types = session, parser, bind_types
        self._binds = list(binds)
        self._out: set[int] = set()

    def result(self) -> Result:
        """Values of the binds that were assigned; those never read are pure OUT."""
        tokens = self._parser.tokens
        read = {
            token.text
            for n, token in enumerate(tokens)
            if token.kind == "B" and tokens[n + 1].text != ":="  # the last token is the end
        }
        out_only = frozenset(index for index in self._out if self._parser.binds[index] not in read)
        return Result(out={index: self._binds[index] for index in self._out}, out_only=out_only)

    def _assignment(self) -> None:
        """`:bind := expression;`"""
        parser = self._parser
        target = parser.bind(parser.take())
        if not parser.op(":="):
            raise _located(parser.sql, parser.token.start, f'PLS-00103: Encountered the symbol "{parser.token.text}"')
        self._check_bind(target.index)
        argument = self._value(parser.expr())
        self._semicolon()
        self._assign(target.index, argument)

    def _assign(self, index: int, argument: Argument) -> None:
        bind = self._bind_types[index]
        env = self._session.environment
        how = Conversion(env.nls, date.fromtimestamp(self._session.storage.clock.now()))
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
        parser = self._parser
        start = parser.token.start
        used: list[int] = []
        while parser.token.text != ";" or parser.token.kind != "O":
            token = parser.take()
            if token.kind == "E":
                raise _located(parser.sql, token.start, 'PLS-00103: Encountered the symbol "end-of-file"')
            if token.kind == "B":
                used.append(parser.bind(token).index)
        text = parser.sql[start : parser.token.start]
        self._semicolon()
        for index in used:
            self._check_bind(index)
        kinds = [self._bind_types[index] for index in used]
        result = self._session.execute(text, kinds, [tuple(self._binds[index] for index in used)])
        if result.return_binds:
            self._returned(result, [used[at] for at in result.return_binds])

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
        positional: list[Argument] = []
        named: dict[str, Argument] = {}
        if parser.op("("):
            while not parser.op(")"):
                self._argument(positional, named)
                if parser.token.text != ")":
                    parser.expect_op(",")
        if parser.token.text == ":=":
            raise self._unknown(parser.token, "an assignment")
        if parser.token.kind != "E":
            self._semicolon()
        name = ".".join(parts[1:] if parts[0] == "SYS" else parts)
        procedure = self._session.database.procedures.get(name)
        if procedure is None:
            raise _located(parser.sql, start.start, f"PLS-00201: identifier '{'.'.join(parts)}' must be declared")
        procedure(self._session, positional, named)

    def _argument(self, positional: list[Argument], named: dict[str, Argument]) -> None:
        parser = self._parser
        if parser.token.kind in "WQ" and parser.peek().text == "=>":
            name = parser.take().text
            parser.take()
            named[name] = self._value(parser.expr())
        elif named:
            raise _located(
                parser.sql,
                parser.token.start,
                "PLS-00312: a positional parameter association may not follow a named association",
            )
        else:
            positional.append(self._value(parser.expr()))

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
