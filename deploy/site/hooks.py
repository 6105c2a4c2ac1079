"""The hooks of mkdocs.yml: pages of the repository as pages of the site.

The pages are written for the repository, where a link may lead to any file, and where Markdown is that of GitHub. On the way to the site

* pages outside of docs/ are brought in (`extra.brought_in`);
* a link to one of them leads to its page, and a link to another file to the repository (`extra.source_url`);
* lists are indented as Python-Markdown wants them, by four blanks, and begin after an empty line;
* beside a light picture stands the dark one;
* an entry `/page.md#section` of the nav leads to that section.

Each page is also looked over for what a browser would fetch from elsewhere.
"""

from __future__ import annotations

import logging
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation, Section
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# A warning in this logger fails a strict build.
_LOG = logging.getLogger("mkdocs.hooks.minercdc")

_OWN = {"assets/site.css": "site.css", "assets/favicon.svg": "favicon.svg"}

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_ITEM = re.compile(r"^( *)([*+-]|\d+[.)])( +)(?=\S)")
# A link or picture, or code, in which there are none.
_LINK = re.compile(r"(?P<code>(?P<ticks>`+).+?(?P=ticks))|\]\((?P<target>[^)\s]+)\)", re.S)
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<name>[^)\s]+)-light\.(?P<ending>svg|png)\)")
_TEXT_LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\(none:\)")
# A block of code, which stays as it is, or code within a line; and the places in it where a name may break.
_CODE = re.compile(r"<pre\b.*?</pre>|<code>[^<]+", re.S)
_BREAK = re.compile(r"(?<=\w)[._=,](?=\w)")
_FETCHED = re.compile(
    r'<(?:script|img|source|iframe|link rel="(?:stylesheet|preconnect|icon)")[^>]*?(?:src|href)="(?:https?:)?//[^"]*"'
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Bring in the pages outside of docs/, and the site's own style and icon."""
    from mkdocs.structure.files import File

    for path, place in config.extra["brought_in"].items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    for place, name in _OWN.items():
        files.append(File.generated(config, place, abs_src_path=str(Path(__file__).parent / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the text of a repository's page into that of the site's page."""
    brought_in: Mapping[str, str] = config.extra["brought_in"]
    place = page.file.src_uri
    if place == "index.md":  # its own list of pages would have one entry
        page.meta["hide"] = ["navigation", "toc"]
    path = next((path for path, other in brought_in.items() if other == place), f"docs/{place}")
    return indented(in_both_colours(linked(markdown, path, place, brought_in, config.extra["source_url"])))


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Give each entry `/page.md#section` the address of that section."""
    from mkdocs.structure.nav import Link

    for item in _items(nav):
        if isinstance(item, Link) and item.url.startswith("/"):
            path, _, section = item.url[1:].partition("#")
            file = files.get_file_from_path(path)
            if file is None:
                _LOG.warning("the nav leads to %s, which does not exist", path)
                continue
            item.url = f"{file.url}#{section}"
    return nav


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let long names break after a dot, and warn of what a browser would fetch from elsewhere.

    The page is finished here, so the index of the search has whole names.
    """
    for found in _FETCHED.findall(output):
        _LOG.warning("%s has a part that is fetched from elsewhere: %s", page.file.src_uri, found)
    return _CODE.sub(lambda code: code[0] if code[0].startswith("<pre") else _BREAK.sub(r"\g<0><wbr>", code[0]), output)


def linked(text: str, path: str, place: str, brought_in: Mapping[str, str], source_url: str) -> str:
    """The text with links that lead somewhere from the site.

    :param path: of the page in the repository, such as `docs/lake.md`.
    :param place: of the page in the site, such as `lake.md`.
    :param brought_in: paths of pages outside of docs/ and their places.
    :param source_url: where other files of the repository are seen; empty: a link to one becomes its text.
    """

    def target(link: str) -> str:
        return _target(link, path, place, brought_in, source_url)

    def replaced(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        return f"]({target(match['target'])})"

    replaced_text = _outside_of_code(text, lambda prose: _LINK.sub(replaced, prose))
    return _outside_of_code(replaced_text, lambda prose: _TEXT_LINK.sub(lambda match: match["text"], prose))


def in_both_colours(text: str) -> str:
    """The text with the dark drawing beside each light one; the theme shows one of them."""
    return _PICTURE.sub(
        r"![\g<text>](\g<name>-light.\g<ending>#only-light)![\g<text>](\g<name>-dark.\g<ending>#only-dark)", text
    )


def _target(link: str, path: str, place: str, brought_in: Mapping[str, str], source_url: str) -> str:
    """Where a link of the page `path` leads from the page `place`; `none:` is a file that the site does not show."""
    name, hash_, anchor = link.partition("#")
    if not name or re.match(r"[a-z]+:", name):
        return link
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if meant in brought_in:
        to = brought_in[meant]
    elif meant.startswith("docs/") and (ROOT / meant).is_file() and meant not in _SHOWN_BY_THE_REPOSITORY:
        to = meant.removeprefix("docs/")
    elif (ROOT / meant).exists():
        return f"{source_url.rstrip('/')}/{meant}{hash_}{anchor}" if source_url else "none:"
    elif meant.startswith("../"):  # of the repository's own site, such as its workflows
        return "none:"
    else:
        return link
    return posixpath.relpath(to, posixpath.dirname(place) or ".") + hash_ + anchor


# A notebook is shown by the repository, and would be a download here.
_SHOWN_BY_THE_REPOSITORY = frozenset({"docs/lake.ipynb"})


def indented(text: str) -> str:
    """The text with four blanks for each level of a list, and empty lines around lists and the code in them."""
    columns: list[int] = []  # at which the text of each open item begins, in the repository's form
    lines: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        blanks = len(line) - len(line.lstrip(" "))
        if fence is not None:
            lines.append(_moved(line, columns))
            if line.strip() == fence:
                fence = None
                lines.append("")
            continue
        if not line.strip():
            lines.append("")
            continue
        item, opening = _ITEM.match(line), _FENCE.match(line)
        goes_on = bool(lines and lines[-1]) and not item and not opening and not line.startswith(("#", "|", "<"))
        if not goes_on:
            while columns and blanks < columns[-1]:
                columns.pop()
        in_a_list = bool(columns) or bool(lines and _ITEM.match(lines[-1])) or _last_item_is_open(lines)
        if lines and lines[-1] and (opening or (item and not in_a_list)):
            lines.append("")
        if item:
            lines.append("    " * len(columns) + f"{item[2]} {line[item.end() :]}")
            columns.append(item.end())
        else:
            lines.append(_moved(line, columns))
        if opening:
            fence = opening[1]
    return "\n".join(lines)


def _moved(line: str, columns: Sequence[int]) -> str:
    """A line of an item's text, at the column that it has there."""
    blanks = len(line) - len(line.lstrip(" "))
    return "    " * len(columns) + line[min(columns[-1] if columns else 0, blanks) :] if line.strip() else ""


def _last_item_is_open(lines: Sequence[str]) -> bool:
    """Whether the last line belongs to an item: no empty line, heading or table is between."""
    for line in reversed(lines):
        if not line or line.startswith(("#", "|")):
            return False
        if _ITEM.match(line):
            return True
    return False


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """The text with what is outside of fenced blocks changed."""
    parts = re.split(r"(^ *```.*?^ *```[^\n]*$)", text, flags=re.M | re.S)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _items(section: Navigation | Section) -> Iterator[object]:
    for item in getattr(section, "items", None) or getattr(section, "children", None) or ():
        yield item
        yield from _items(item)
