"""The page of the Python API, docs/reference/api.md: signatures and docstrings of what users import, read from the sources.

``python -m deploy.site.api_page`` prints it. Nothing is imported: the sources say what a name is, where it is defined, and what its
docstring says, so that the page is the same with each version of Python and of the libraries.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parents[2] / "src"
# In the order of the page, each with what a reader wants there.
MODULES: Final = {
    "minercdc": "Load a configuration, and run a connector in your own program.",
    "minercdc.lake": "Read the connector's changes in Spark, and the lake's tables as of one SCN.",
    "minercdc.relay": "Read a relay's changes.",
    "minercdc.errors": "Know what is raised; [errors](../errors.md) says what to do about each code.",
    "minercdc.extension": "Write an adapter, a sink, a format or a transformation; [write your own](../extensions.md) has an example of each.",
}
_HEAD = """# Python API

Look up a class or function that you import. Made by `make docs` from signatures and docstrings; do not edit.

Only the names on this page are public; all others may change with any release ([how a public name
goes](../../CONTRIBUTING.md#what-users-import)).
"""
_WIDTH = 120
# A field of a docstring, such as `:param name: text`, with the lines that continue it.
_FIELD = re.compile(r"^:(param|ivar|cvar|raises|returns?)\s*([^:]*):\s*", re.M)
_HEADINGS = {"param": "parameter", "ivar": "attribute", "cvar": "attribute", "raises": "raises", "return": "returns", "returns": "returns"}  # fmt: skip

_Definition = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class _Found:
    """Where a public name is defined."""

    name: str
    module: str
    definition: _Definition


def api_page() -> str:
    """The text of docs/reference/api.md."""
    lines = [_HEAD]
    for module, purpose in MODULES.items():
        lines += [f"## {module}", "", *_wrapped(purpose), ""]
        for name in _public(module):
            found = _definition(module, name)
            if found is not None:
                lines += _entry(module, found)
    return "\n".join(lines).rstrip() + "\n"


def _public(module: str) -> list[str]:
    """What a module lists as public; of the module of errors, its classes in order."""
    tree = _tree(module)
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                return [str(one.value) for one in elements if isinstance(one, ast.Constant)]
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_path(module).read_text(encoding="utf-8"))


def _path(module: str) -> Path:
    place = SOURCES / module.replace(".", "/")
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _definition(module: str, name: str) -> _Found | None:
    """Where a name of a module is defined; None for a module and for texts such as `__version__`."""
    for node in ast.walk(_tree(module)):
        match node:
            case ast.ImportFrom(module=str(home), names=names):
                for one in names:
                    if (one.asname or one.name) == name:
                        defined = None if _is_module(f"{home}.{one.name}") else _definition(home, one.name)
                        return None if defined is None else _Found(name, defined.module, defined.definition)
    for statement in _tree(module).body:
        match statement:
            case ast.ClassDef() | ast.FunctionDef() if statement.name == name:
                return _Found(name, module, statement)
            case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                return _Found(name, module, statement)
    return None


def _is_module(name: str) -> bool:
    return _path(name).exists()


def _entry(module: str, found: _Found) -> Iterator[str]:
    match found.definition:
        case ast.FunctionDef() as function:
            yield from (f"### {found.name}", "", *_code(_signature(function, found.name)), "")
            yield from _text(ast.get_docstring(function))
        case ast.ClassDef() as cls:
            yield from (f"### {found.name}", "", *_code(_construction(cls, found.name)), "")
            yield from _text(ast.get_docstring(cls))
            yield from _members(cls, found.name)
        case ast.AnnAssign(value=value) as alias:
            yield from (f"### {found.name}", "", *_alias(found.name, ast.unparse(value) if value else ""), "")
            yield from _text(_comment_of(found.module, alias))


def _alias(name: str, value: str) -> list[str]:
    """An alias of types as code, in the form that the formatter gives it."""
    text = f"{name} = {value}".replace("'", '"')
    if len(text) > _WIDTH:
        first, *others = value.split(" | ")
        text = "\n".join([f"{name} = (", f"    {first}", *(f"    | {one}" for one in others), ")"])
    return ["```python", *text.split("\n"), "```"]


def _comment_of(module: str, statement: ast.stmt) -> str | None:
    """The text below an assignment, as a docstring."""
    body = _tree(module).body
    after = body[body.index(statement) + 1 : body.index(statement) + 2]
    match after:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return text
    return None


def _construction(cls: ast.ClassDef, name: str) -> str:
    """How an object is made, or the bases of a class that others implement."""
    bases = [ast.unparse(one) for one in cls.bases]
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return _signature(node, name, made=True)
    fields = [one for one in cls.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    is_made_of_fields = "NamedTuple" in bases or any("dataclass" in ast.unparse(one) for one in cls.decorator_list)
    if fields and is_made_of_fields:
        return f"{name}({', '.join(ast.unparse(one) for one in fields if not ast.unparse(one.target).startswith('_'))})"
    return f"class {name}({', '.join(bases)})" if bases else f"class {name}"


def _members(cls: ast.ClassDef, name: str) -> Iterator[str]:
    """Values of an enumeration, attributes of a protocol, and public methods."""
    values = [
        f"`{ast.unparse(one.targets[0])}` = `{ast.unparse(one.value)}`"
        for one in cls.body
        if isinstance(one, ast.Assign) and any("Enum" in ast.unparse(base) for base in cls.bases)
    ]
    if values:
        yield from (*_wrapped("Values: " + ", ".join(values) + "."), "")
    if any(ast.unparse(one).startswith("Protocol") for one in cls.bases):
        attributes = [ast.unparse(one) for one in cls.body if isinstance(one, ast.AnnAssign)]
        if attributes:
            yield from (*_wrapped("Attributes: " + ", ".join(f"`{one}`" for one in attributes) + "."), "")
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
            yield from (f"#### {name}.{node.name}", "")
            yield from (*_code(f"{node.name}: {ast.unparse(node.returns)}" if is_property and node.returns else _signature(node, node.name)), "")  # fmt: skip
            yield from _text(ast.get_docstring(node))


def _signature(function: ast.FunctionDef, name: str, made: bool = False) -> str:
    returned = f" -> {ast.unparse(function.returns)}" if function.returns and not made else ""
    return f"{name}({', '.join(_arguments(function.args))}){returned}"


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    """Each argument but `self`, as it is written."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for one, default in zip(plain, defaults, strict=True):
        if one.arg not in ("self", "cls"):
            yield _argument(one, default)
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(one, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _code(text: str) -> list[str]:
    """A signature as code, an argument a line where it is long."""
    if len(text) > _WIDTH - 20:
        head, _, rest = text.partition("(")
        inside, _, end = rest.rpartition(")")
        text = "\n".join([f"{head}(", *(f"    {one}," for one in _parted(inside)), f"){end}"])
    return ["```python", *text.split("\n"), "```"]


def _parted(arguments: str) -> list[str]:
    """Arguments apart: at commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [one.strip() for one in parts if one.strip()]


def _text(docstring: str | None) -> Iterator[str]:
    """A docstring as Markdown: its paragraphs, then parameters and errors as a list."""
    if not docstring:
        return
    docstring = textwrap.dedent(docstring).strip()
    parts = _FIELD.split(docstring)
    yield from _paragraphs(parts[0])
    fields = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))
    for kind, name, text in fields:
        words = " ".join(text.split())
        what = f"**{_HEADINGS[kind]}**" + (f" `{name.strip()}`" if name.strip() else "")
        yield from _wrapped(f"* {what}: {_safe(words)}", indent="  ")
    if fields:
        yield ""


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.split("\n")
        if all(line.startswith("    ") for line in lines):
            yield from ("```", *(line[4:] for line in lines), "```", "")
        elif lines[0].startswith("* "):
            for item in re.split(r"\n(?=\* )", paragraph):
                yield from _wrapped(f"* {_safe(' '.join(item[2:].split()))}", indent="  ")
            yield ""
        else:
            yield from (*_wrapped(_safe(" ".join(paragraph.split()))), "")


def _safe(text: str) -> str:
    """Text whose `<` and `*` outside of code do not count as Markdown."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(one if number % 2 else re.sub(r"[<*]", r"\\\g<0>", one) for number, one in enumerate(parts))


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(api_page())
