"""Transformations by an expression over the record: Filter, ContentBasedRouter.

Expressions are written in CEL (cel.dev), which neither loops without end nor reaches anything but its variables:

    key, value   as in the record's JSON, null where there is none
    topic        the record's topic
    headers      a map of the headers' values
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import regex

from minercdc.config.transforms.options import Expression, FilterByExpression, RouteByExpression
from minercdc.errors import ConfigError, ValueDecodeError
from minercdc.messages.transforms.record import ConnectRecord, Transform
from minercdc.messages.transforms.routing import SECONDS

_HINT = "Check values that may be null or missing first: value.after != null && has(value.after.X) && .."
Evaluate = Callable[[ConnectRecord], Any]


def compile_expression(text: str, result: str) -> Evaluate:
    """A function that evaluates a CEL expression. It raises ValueDecodeError where that fails, as on a field that is not there, and
    where the result is of another type.

    :param result: `BOOL` or `STRING`, the type that it has to have. A STRING may be null: there is no text; a condition may not.
    :raises ConfigError: it is no expression of that type, or the library is not installed.
    """
    try:
        from cel_expr_python import cel
    except ImportError:
        raise ConfigError(["needs the package cel-expr-python: pip install 'minercdc[expressions]'"]) from None
    dynamic = cel.Type.DYN
    environment = cel.NewEnv(variables={"key": dynamic, "value": dynamic, "topic": cel.Type.STRING, "headers": dynamic})
    try:
        program = environment.compile(text)
    except RuntimeError as error:
        raise ConfigError([f"{text} is not a CEL expression: {_first_line(error)}"]) from None
    taken = {"BOOL": (cel.Type.BOOL,), "STRING": (cel.Type.STRING, cel.Type.NULL)}[result]
    if program.return_type() not in (*taken, dynamic):
        raise ConfigError([f"{text} is of type {program.return_type().name()}, not {result}"])

    def evaluate(record: ConnectRecord) -> Any:
        headers = {name: c.decode() if isinstance(c, bytes) else c.value for name, c in record.headers}
        key, value = (None if side is None else side.value for side in (record.key, record.value))
        found = program.eval(data={"key": key, "value": value, "topic": record.topic, "headers": headers})
        kind = found.type()
        if kind == cel.Type.ERROR:
            raise ValueDecodeError(f"{text}: {found.value()}", hint=_HINT)
        if kind not in taken:
            raise ValueDecodeError(f"{text} gives {kind.name()}, not {result}", hint=_HINT if kind == cel.Type.NULL else "")
        return found.value()

    return evaluate


@contextmanager
def naming_option(option: str) -> Iterator[None]:
    """Put the option's name before the problems of a ConfigError that is raised in the context."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError([f"{option}: {problem}" for problem in error.problems]) from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ")


def filter_by_expression(options: FilterByExpression) -> Transform:
    """The transformation Filter: leaves out the records of which the condition is false. It raises as the function of
    `compile_expression`, and TimeoutError when the pattern of topics takes too long; ConfigError is raised as by that,
    naming the option."""
    with naming_option("condition"):
        evaluate = compile_expression(options.condition, "BOOL")
    return _guarded(options, lambda record: record if evaluate(record) is True else None)


def route_by_expression(options: RouteByExpression) -> Transform:
    """The transformation ContentBasedRouter: a record gets the topic that the expression gives; an empty text, or null,
    leaves its own. It raises as the function of `compile_expression`, and TimeoutError when the pattern of topics takes
    too long; ConfigError is raised as by that, naming the option."""
    with naming_option("topic.expression"):
        evaluate = compile_expression(options.topic_expression, "STRING")

    def transform(record: ConnectRecord) -> ConnectRecord:
        topic = evaluate(record)
        return record.with_topic(topic) if topic else record

    return _guarded(options, transform)


def _guarded(options: Expression, transform: Transform) -> Transform:
    """`transform`, made only of records of the topics that the options name, the others staying as they are; of records
    without value as `null_handling_mode` says: kept, left out, or transformed, too."""
    topics = regex.compile(options.topic_regex) if options.topic_regex else None

    def guarded(record: ConnectRecord) -> ConnectRecord | None:
        if topics is not None and topics.fullmatch(record.topic, timeout=SECONDS) is None:
            return record
        if record.value is None and options.null_handling_mode != "evaluate":
            return record if options.null_handling_mode == "keep" else None
        return transform(record)

    return guarded
