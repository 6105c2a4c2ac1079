"""Transformations of records: `transforms=a,b` with `transforms.a.type` and its options, and `predicates` likewise."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from minercdc.config import extensions
from minercdc.config.section import one_of
from minercdc.config.transforms.option_form import ExtensionOptions, Options
from minercdc.config.transforms.options import PREDICATES, TRANSFORMATIONS, Unwrap

log = logging.getLogger(__name__)
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Predicate:
    """Decides which records a transformation changes.

    :param name: in `predicates`.
    :param options: of the predicate's class.
    :param negate: the transformation changes the records that the predicate is not true of.
    """

    name: str
    options: Options
    negate: bool


@dataclass(frozen=True, slots=True)
class Transformation:
    """One step of the chain.

    :param name: in `transforms`.
    :param type: name of the Java class.
    :param options: of that class.
    :param predicate: None for all records.
    """

    name: str
    type: str
    options: Options
    predicate: Predicate | None


# Debezium's classes that properties of the connector stand for
_INSTEAD: Mapping[str, str] = {
    "io.debezium.transforms.partitions.PartitionRouting": "minercdc.topic.partition.columns chooses the partition by columns of the key",
    "io.debezium.transforms.SchemaChangeEventFilter": "include.schema.changes=false leaves out schema changes",
}


def take_transformations(properties: dict[str, str], problems: list[str]) -> tuple[Transformation, ...]:
    """The chain of flat properties, which are taken out; what is wrong is added to the problems. Older options log a warning."""
    predicates = dict(_predicates(properties, problems))
    return tuple(_transformations(properties, predicates, problems))


def _transformations(
    properties: dict[str, str], predicates: Mapping[str, Options | None], problems: list[str]
) -> Iterator[Transformation]:
    for name, options in _named(properties, "transforms", problems):
        where = f"transforms.{name}"
        wanted, negate = options.pop("predicate", "").strip(), options.pop("negate", "false").strip().lower()
        if negate not in _FLAGS:
            problems.append(f"{where}.negate: {negate} is neither true nor false")
        if wanted and wanted not in predicates:
            problems.append(f"{where}.predicate: predicates does not list {wanted}")
        if not wanted and negate == "true":
            problems.append(f"{where}.negate: has no effect without {where}.predicate")
        kind = options.pop("type", "").strip()
        known = TRANSFORMATIONS
        if kind not in known and kind in extensions.installed(extensions.TRANSFORMS):
            known = {kind: ExtensionOptions}
        made = _made(where, kind, options, known, problems)
        if isinstance(made, Unwrap) and made.is_legacy:
            log.warning(
                "%s: drop.tombstones and delete.handling.mode are deprecated by Debezium; use delete.tombstone.handling.mode",
                where,
            )
        condition = predicates.get(wanted)
        if made is None or (wanted and condition is None):
            continue
        predicate = Predicate(wanted, condition, _FLAGS.get(negate, False)) if condition is not None else None
        yield Transformation(name, kind, made, predicate)


def _predicates(properties: dict[str, str], problems: list[str]) -> Iterator[tuple[str, Options | None]]:
    """Name and options of each that is listed; None for one whose definition is wrong, which is a problem of its own."""
    for name, options in _named(properties, "predicates", problems):
        where = f"predicates.{name}"
        yield name, _made(where, options.pop("type", "").strip(), options, PREDICATES, problems)


def _named(properties: dict[str, str], what: str, problems: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The listed names, in order, each with its options; takes these properties out of `properties`, and appends to `problems`.

    :param what: the property that lists the names, which is the prefix of the options.
    """
    names = [name.strip() for name in properties.pop(what, "").split(",") if name.strip()]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"{what}: {name} is listed twice")
    options: dict[str, dict[str, str]] = {name: {} for name in names}
    prefix = f"{what}."
    for full in [full for full in properties if full.startswith(prefix)]:
        value = properties.pop(full)
        # The longest name, since a name may have dots.
        owner = max((name for name in options if full.startswith(f"{prefix}{name}.")), key=len, default=None)
        if owner is None:
            problems.append(f"{full}: {what} does not list it")
        else:
            options[owner][full.removeprefix(f"{prefix}{owner}.")] = value
    for name, given in options.items():
        if given.pop("plugin.version", None) is not None:
            log.warning("%s%s.plugin.version has no effect: no class of Kafka Connect runs here", prefix, name)
    yield from options.items()


def _made(
    where: str, kind: str, options: Mapping[str, str], known: Mapping[str, type[Options]], problems: list[str]
) -> Options | None:
    if kind not in known:
        near = difflib.get_close_matches(kind, known, 1, 0.8)
        hint = f"; did you mean {near[0]}?" if near else ", which docs/transforms.md lists"
        if kind in _INSTEAD:
            problems.append(f"{where}.type: {kind} is a Java class, which cannot run here; {_INSTEAD[kind]}")
            return None
        problems.append(
            f"{where}.type: {kind} cannot run here: Java classes are not supported, only built-in types{hint}"
            if kind
            else f"{where}.type: needed"
        )
        return None
    try:
        return known[kind](**options)
    except ValidationError as error:
        problems.extend(_lines(where, error))
        return None


def _lines(where: str, error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False):
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "this transformation has no such option"
        if item["type"] == "literal_error":
            message = one_of(str(item["input"]), item["ctx"]["expected"])
        name = ".".join([where, *(str(part) for part in item["loc"])])
        option = message.partition(":")[0]
        # A problem of several options begins with the name of one.
        yield f"{name}.{message}" if not item["loc"] and re.fullmatch(r"[a-z][a-z.]+", option) else f"{name}: {message}"
