"""Configuration files, as flat properties with the line that each stands in.

.properties   as `java.util.Properties` reads them: continuation lines, escapes, `=`, `:` or a blank after the name
.json         flat or nested, or Kafka Connect's `{"name", "config"}`
other         YAML, likewise
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import javaproperties
import yaml

from minercdc.config.messages.content import without_salt
from minercdc.config.section import no_text
from minercdc.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FileProperties:
    """What a file holds.

    :param values: by name, placeholders not yet resolved.
    :param lines: by name, the line it begins in, where that is known.
    :param problems: a line for each name that is given twice; the first value counts. And for one that cannot be encoded, which is
        left out.
    """

    values: Mapping[str, str]
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> FileProperties:
    """The flat properties of a file: nested names joined by dots, lists by commas; null is left out.

    :raises ConfigError: it cannot be read, or is not of the format of its ending.
    """
    try:
        content = path.read_bytes()
        text = _java_text(content) if path.suffix == ".properties" else content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"cannot be read: {error}"], where=str(path)) from None
    try:
        if path.suffix == ".properties":
            return _once(_java_properties(text))
        document = _mapping(text, path.suffix == ".json")
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        kind = path.suffix.lstrip(".") or "YAML"
        raise ConfigError([f"is not valid {kind}: {_without_values(error)}"], where=str(path)) from None
    if document is None:
        raise ConfigError(["holds no properties (a mapping of property names to values is expected)"], where=str(path))
    return _once(_connect_form(list(_flatten(document, ""))))


def read_java_properties(text: str) -> dict[str, str]:
    """Names and values of a .properties text; the last value of a name counts, as in Java. Raises ValueError for a bad escape."""
    return {name: value for name, value, _ in _java_properties(text)}


_Line = tuple[str, str, int | None]


def _java_text(content: bytes) -> str:
    """The text of a .properties file: read as UTF-8, or as Latin-1, which Java took such files for, when the bytes are no UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _java_properties(text: str) -> Iterator[_Line]:
    line = 1
    for element in javaproperties.parse(text):
        if isinstance(element, javaproperties.KeyValue):
            yield element.key, element.value, line
        line += max(len(re.findall(r"\r\n|\r|\n", element.source)), 1)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A name and what it stands for: text, None for null, or further pairs. `line` is None when it is not known."""

    name: str
    value: str | None | list[_Pair]
    line: int | None


def _mapping(text: str, is_json: bool) -> list[_Pair] | None:
    """The pairs of the document; None when it is no mapping."""
    if is_json:
        json.loads(text)  # its own errors are clearer
        text = re.sub(r"\t", " ", text)  # a blank, which YAML does not take; within strings JSON has it escaped
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    return _pairs(root, yaml.SafeLoader(""))


# Types that YAML sees in plain text.
_TYPES: Final = frozenset({"str", "int", "float", "bool", "null", "timestamp", "merge", "value"})


def _pairs(node: yaml.MappingNode, loader: yaml.SafeLoader) -> list[_Pair]:
    loader.flatten_mapping(node)
    found = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a name is expected, not a list or mapping", key.start_mark)
        found.append(_Pair(key.value, _value(value, loader), key.start_mark.line + 1))
    return found


def _value(node: yaml.Node, loader: yaml.SafeLoader) -> str | None | list[_Pair]:
    if isinstance(node, yaml.MappingNode):
        return _pairs(node, loader)
    if isinstance(node, yaml.SequenceNode):
        return ",".join(_scalar(one) for one in node.value)
    return None if node.tag == "tag:yaml.org,2002:null" else _scalar(node)


def _scalar(node: yaml.Node) -> str:
    """The text that stands there, `true` and `false` in lower case: as numbers and times of YAML, a password `012345`
    would be 5349, and a name `on` true."""
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(None, None, "a value is expected, not a list or mapping", node.start_mark)
    if node.tag.removeprefix("tag:yaml.org,2002:") not in _TYPES:
        raise yaml.constructor.ConstructorError(None, None, f"a value of tag {node.tag} is not taken", node.start_mark)
    text = _joined(node.value)
    return text.lower() if text in ("True", "TRUE", "False", "FALSE") and node.style is None else text


def _joined(text: str) -> str:
    """The text with a character beyond U+FFFF in place of its two surrogates: JSON writes it as two escapes, which YAML
    takes for two characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _flatten(pairs: Iterable[_Pair], prefix: str) -> Iterator[_Line]:
    for pair in pairs:
        if isinstance(pair.value, list):
            yield from _flatten(pair.value, f"{prefix}{pair.name}.")
        elif pair.value is not None:
            yield f"{prefix}{pair.name}", pair.value, pair.line


def _connect_form(lines: list[_Line]) -> list[_Line]:
    """The properties within `config` of Kafka Connect's REST form, with the connector's name; all lines as they are where it is
    no such form."""
    within = [(name.removeprefix("config."), value, line) for name, value, line in lines if name.startswith("config.")]
    if not any(name == "connector.class" or name == "topic.prefix" or name.startswith("database.") for name, _, _ in within):
        return lines
    if any(name == "name" for name, _, _ in within):
        return within
    return [line for line in lines if line[0] == "name"][:1] + within


def _once(lines: Iterable[_Line]) -> FileProperties:
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    problems = []
    for name, value, line in lines:
        if problem := no_text(name):
            problems.append(f"{name.encode('ascii', 'backslashreplace').decode()}: {problem}")
            continue
        if name in values:
            first = f" in line {places[name]}" if name in places else ""
            problems.append(f"{without_salt(name)}: is given twice" + (f",{first} and line {line}" if line else ""))
            continue
        values[name] = value
        if line is not None:
            places[name] = line
    return FileProperties(values, places, tuple(problems))


# An alias, anchor or tag is named by the text that follows `*`, `&` or `!`, as of a password without apostrophes.
_NAMED_BY_VALUE = re.compile(r"\b(alias|anchor|tag|tag handle) .*", re.DOTALL)


def _without_values(error: Exception) -> str:
    """Problem and place of an error, without the line of YAML that holds it, which may have a password."""
    if isinstance(error, yaml.MarkedYAMLError):
        what = _NAMED_BY_VALUE.sub(r"\1", error.problem or "not understood")
        mark = error.problem_mark
        return f"{what} in line {mark.line + 1}, column {mark.column + 1}" if mark else what
    return str(error)
