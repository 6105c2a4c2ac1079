"""Records where a property is given: file, line and name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from minercdc.config.debezium.renaming import Spelled
from minercdc.config.files import FileProperties
from minercdc.config.messages.content import without_salt
from minercdc.config.section import environment_name

UNRESOLVED = ": placeholder cannot be resolved: "
_NAME = re.compile(r"[^:,\s]+")
_HAS_LINE = re.compile(r"\bline \d")


def origin(given: Spelled, content: FileProperties, where: str) -> str:
    """The place of a property: `orders.yaml:12, as database.server.name`.

    :param where: the file, or another place that holds the configuration; '' for none.
    """
    line = content.lines.get(given.given_as)
    place = f"{Path(where).name}:{line}" if line else Path(where).name
    return place if given.given_as == given.name else f"{place}, as {without_salt(given.given_as)}"


def independent(problems: Iterable[str], names: Mapping[str, str]) -> Iterator[str]:
    """The problems without those that follow from a placeholder that cannot be resolved.

    :param names: present name of each property, by the name that is given.
    """
    problems = list(problems)
    given = [problem.partition(UNRESOLVED)[0] for problem in problems if UNRESOLVED in problem]
    unresolved = {names.get(name, name) for name in given}
    for problem in problems:
        match = _NAME.match(problem)
        name = match[0] if match else ""
        if UNRESOLVED in problem or not any(name == one or name.startswith(f"{one}.") for one in unresolved):
            yield problem


def placed(problems: Iterable[str], found: Iterable[Spelled], content: FileProperties, where: str) -> Iterator[str]:
    """The problems, each with the place of the property that it begins with, where that has one: a line of the file, the older name that it
    has there, or a variable of the environment. The prefix of Debezium Server is put before the name, where the file has it."""
    by_name: dict[str, Spelled] = {}
    for one in found:
        for name in (one.given_as, one.name, one.name.partition(".with.salt.")[0]):
            by_name.setdefault(name.casefold(), one)
    for problem in problems:
        match = _NAME.match(problem)
        name = match[0] if match else ""
        given = by_name.get(name.casefold())
        if given is not None and given.given_as in (f"debezium.source.{name}", f"debezium.{name}"):
            problem, name = given.given_as + problem[len(name) :], given.given_as
        place = "" if _HAS_LINE.search(problem) else _place(name, given, content, where)
        yield f"{problem} ({place})" if place else problem


def _place(name: str, given: Spelled | None, content: FileProperties, where: str) -> str:
    variable = environment_name(given.name if given else name)
    for of_environment in (variable, f"{variable}_FILE"):
        if os.environ.get(of_environment):
            return f"environment {of_environment}"
    if given is None:
        return ""
    line = content.lines.get(given.given_as)
    parts = [f"{Path(where).name}:{line}"] if line else []
    if name.casefold() not in (given.given_as.casefold(), given.given_as.partition(".with.salt.")[0].casefold()):
        parts.append(f"given as {without_salt(given.given_as)}")
    return ", ".join(parts)
