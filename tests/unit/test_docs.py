"""Pages that are made from the code are as the code makes them; facts that are cited, and links, lead somewhere."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.site.api_page import api_page
from deploy.site.hooks import indented, linked

from minercdc.cli.pages.errors import errors_page
from minercdc.cli.pages.reference import reference_page
from minercdc.cli.pages.types import types_page
from minercdc.config.document import configuration_page
from minercdc.operate.check.catalogue import BY_NAME
from minercdc.operate.check.page import checks_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FACTS = DOCS / "reference" / "logminer-facts.md"
# A fact is cited by its anchor, or by its number: D-4, B.7.1, E55, or in the name of a test as `d4` and `e55`.
CITED = re.compile(r"logminer-facts\.md#([\w-]+)|\b(D-\d+|B\.\d+(?:\.\d+)?|E\d\d)\b|(?<=def test_)([de]\d+)(?=_)")
PAGES = sorted(
    {
        *DOCS.rglob("*.md"),
        *(
            page
            for place in (".", "connectors", "sandbox", "sandbox/docs", "signals")
            for page in (ROOT / place).glob("*.md")
        ),
    }
)


def test_the_configuration_page_is_current() -> None:
    assert (DOCS / "configuration.md").read_text() == configuration_page(), "run `make docs`"


def test_the_page_of_types_is_current() -> None:
    assert (DOCS / "types.md").read_text() == types_page(), "run `make docs`"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MINERCDC_TIME_PRECISION_MODE", "connect"), ("MINERCDC_LAKE_NUMBER", "double"), ("MINERCDC_LAKE_NUMBER", "no such")],
)
def test_the_page_of_types_does_not_depend_on_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert types_page() == (DOCS / "types.md").read_text()


def test_the_page_of_errors_is_current() -> None:
    assert (DOCS / "errors.md").read_text() == errors_page(), "run `make docs`"


def test_the_page_of_checks_is_current() -> None:
    assert (DOCS / "checks.md").read_text() == checks_page(), "run `make docs`"


def test_the_page_of_commands_is_current() -> None:
    assert (DOCS / "reference" / "cli.md").read_text() == reference_page(), "run `make docs`"


def test_the_page_of_the_python_api_is_current() -> None:
    assert (DOCS / "reference" / "api.md").read_text() == api_page(), "run `make docs`"


def prose(text: str) -> Iterator[str]:
    """Lines of a page outside of code, tables and HTML."""
    for line in re.sub(r"^( *```).*?^\1[^\n]*$", "", text, flags=re.M | re.S).splitlines():
        if not line.lstrip().startswith(("|", "<")):
            yield line


# Changes are a record, and the sandbox's page is made by the sandbox.
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in ("CHANGELOG.md", "sandbox.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_no_line_of_prose_is_longer_than_120_characters(page: Path) -> None:
    lines = list(prose(page.read_text()))
    assert len(lines) > 4
    assert not [line for line in lines if len(line) > 120]


def test_every_finding_of_the_code_names_a_rule_and_every_rule_has_a_finding() -> None:
    named: set[str] = set()
    texts = (path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for text in (one for one in texts if re.search(r"\b(Finding|advice|_missing)\(", one)):
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Name(id="Finding") | ast.Name(id="advice"):
                    given = call.args[:1]
                case ast.Name(id="_missing"):
                    given = call.args[1:2]
                case _:
                    continue
            named |= {str(word.value) for word in given if isinstance(word, ast.Constant)}
    # named by a variable in LogMinerPrerequisites and of topics, and by the examination where the view is not granted
    by_variable = {"grant-views", "grant-logminer", "grant-instances", "offset-topic", "open-transactions-topic"}
    assert named | by_variable == set(BY_NAME)
    assert len(BY_NAME) >= 25


def sources() -> Iterator[Path]:
    for folder in ("src", "tests", "docs", "sandbox/src", "sandbox/tests"):
        yield from (ROOT / folder).rglob("*.py")
        yield from (ROOT / folder).rglob("*.md")


def test_every_file_of_ours_that_a_source_names_exists() -> None:
    named = re.compile(
        r"(?<![\w./<-])((?:src|tests|docs|bench|connectors|sandbox/(?:src|tests|docs))/[\w/-]+\.(?:py|pxi|c|md|yaml|test))\b"
    )
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (*sources(), *(ROOT / "src").rglob("*.pxi"), *(ROOT / "src").rglob("*.h"), *PAGES)
        for name in named.findall(path.read_text())
        if not (ROOT / name).exists() and not (ROOT / "sandbox" / name).exists()
    }
    assert not missing


def anchors(page: Path) -> set[str]:
    """Explicit anchors of a page, and those that a heading has by its text."""
    text = page.read_text()
    headings = (
        re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", text, re.M)
    )
    return {*re.findall(r'<a id="([^"]+)">', text), *headings}


def anchor_of(fact: str) -> str:
    """`D-4`, `d4`, `B.7.1` and `E05` have the anchors `d-4`, `d-4`, `b-7-1` and `e-5`."""
    if fact[1:].isdigit():
        return f"{fact[0].lower()}-{int(fact[1:])}"
    return fact.lower().replace(".", "-")


def test_every_fact_that_is_cited_is_in_the_reference() -> None:
    known = anchors(FACTS)
    cited = [
        (path, link or anchor_of("".join(fact))) for path in sources() for link, *fact in CITED.findall(path.read_text())
    ]
    assert {("d-4"), ("e-55")} <= {anchor for _, anchor in cited}
    assert not {f"{path.relative_to(ROOT)}: {anchor}" for path, anchor in cited if anchor not in known}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`]*`", "", page.read_text(), flags=re.M | re.S)
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([\w-]+))?\)", prose):
        if path.startswith("../../actions/"):  # of the repository's site, where README is shown
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{path} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{path} has no #{anchor}"


def test_every_file_that_the_architecture_names_exists() -> None:
    pages = [DOCS / "architecture.md", DOCS / "glossary.md", *(DOCS / "decisions").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`([\w/]+\.py)`", page.read_text())}
    files = [str(path.relative_to(ROOT)) for folder in ("src", "tests", "sandbox") for path in (ROOT / folder).rglob("*.py")]
    assert len(named) > 70
    assert not {name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)}


def test_the_architecture_and_each_decision_can_be_read_at_once() -> None:
    architecture = (DOCS / "architecture.md").read_text().splitlines()
    assert len(architecture) <= 170
    assert not [line for line in architecture if len(line) > 140]
    records = sorted((DOCS / "decisions").glob("0*.md"))
    assert records
    listed = (DOCS / "decisions" / "README.md").read_text()
    for record in records:
        text = record.read_text()
        assert len(text.splitlines()) <= 40, record
        assert re.findall(r"^## (.*)$", text, re.M) == ["Context", "Choice", "Consequence"], record
        assert f"({record.name})" in listed


def test_the_run_book_has_every_code_and_every_notification() -> None:
    page = (DOCS / "runbook.md").read_text()
    codes = set(re.findall(r"^## (MC-\d+) ", (DOCS / "errors.md").read_text(), re.M))
    assert len(codes) > 20
    assert not {code for code in codes if f"[{code}](" not in page}
    table = (DOCS / "signals.md").read_text().split("## Answers")[1].split("## ")[0]
    types = set(re.findall(r"`([A-Z]+_?[A-Z_]+)`", table)) - {"SUCCEEDED", "EMPTY", "UNKNOWN"}
    assert {"LAG_HIGH", "SUSPENDED", "CHANGED"} <= types
    assert not {name for name in types if f"`{name}`" not in page}


def test_readme_can_be_read_at_once() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in (DOCS / "images" / "badge-version.svg").read_text()
    for picture in re.findall(r'(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^):]+\.(?:png|svg))\)', text):
        assert (ROOT / "".join(picture)).exists() or "badge.svg" in "".join(picture)


class _Settings(yaml.SafeLoader):
    """Reads mkdocs.yml without MkDocs: of values that it computes, none."""


_Settings.add_multi_constructor("", lambda loader, tag, node: None)


def entries(nav: list[Any]) -> Iterator[str]:
    """Pages of a nav of MkDocs, in order."""
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            yield from entries(value) if isinstance(value, list) else (value,)


def test_the_site_has_every_page_once_and_every_section_that_it_names() -> None:
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(), _Settings)
    brought_in = {place: ROOT / path for path, place in settings["extra"]["brought_in"].items()}
    places = {**brought_in, **{str(path.relative_to(DOCS)): path for path in DOCS.rglob("*.md")}}
    assert all(path.exists() for path in brought_in.values())
    named = list(entries(settings["nav"]))
    assert sorted(name for name in named if not name.startswith("/")) == sorted(places)
    sections = [name[1:].split("#") for name in named if name.startswith("/")]
    assert sections
    assert not [(place, anchor) for place, anchor in sections if anchor not in anchors(places[place])]


@pytest.mark.parametrize(
    ("path", "link", "source_url", "becomes"),
    [
        ("docs/sinks.md", "[x](lake.md#types)", "", "[x](lake.md#types)"),
        ("docs/sinks.md", "[x](../CONTRIBUTING.md#how-we-test)", "", "[x](project/contributing.md#how-we-test)"),
        ("docs/capture/olr.md", "[x](../../CONTRIBUTING.md)", "", "[x](../project/contributing.md)"),
        ("CONTRIBUTING.md", "[x](docs/lake.md)", "", "[x](../lake.md)"),
        ("CONTRIBUTING.md", "[x](#how-we-test)", "", "[x](#how-we-test)"),
        ("docs/sinks.md", "[`x`](../compose.yaml)", "", "`x`"),
        ("docs/sinks.md", "[`x`](../compose.yaml)", "https://example.com/blob/main/", "[`x`](https://example.com/blob/main/compose.yaml)"),
        ("docs/sinks.md", "[x](https://example.com/)", "", "[x](https://example.com/)"),
        ("docs/sinks.md", "[x](no-such.md)", "", "[x](no-such.md)"),
        ("docs/sinks.md", "`[x](../compose.yaml)`", "", "`[x](../compose.yaml)`"),
        ("docs/sinks.md", "```\n[x](../compose.yaml)\n```", "", "```\n[x](../compose.yaml)\n```"),
    ],
)  # fmt: skip
def test_a_link_of_the_repository_leads_somewhere_from_the_site(path: str, link: str, source_url: str, becomes: str) -> None:
    brought_in = {"CONTRIBUTING.md": "project/contributing.md"}
    assert linked(link, path, brought_in.get(path, path.removeprefix("docs/")), brought_in, source_url) == becomes


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("Text:\n* a\n* b", "Text:\n\n* a\n* b"),
        ("* a\n  goes on\n* b", "* a\n    goes on\n* b"),
        ("* a\nlazy\n* b", "* a\n    lazy\n* b"),
        ("* a\n  * b\n    goes on\n* c", "* a\n    * b\n        goes on\n* c"),
        ("1. a\n\n   more", "1. a\n\n    more"),
        ("* a\n  ```sh\n  * x\n  ```\n* b", "* a\n\n    ```sh\n    * x\n    ```\n\n* b"),
        ("* a\n\n  | x |\n  |---|\n\nText", "* a\n\n    | x |\n    |---|\n\nText"),
        ("```\n* a\n  * b\n```", "```\n* a\n  * b\n```\n"),
    ],
)
def test_a_list_of_the_repository_is_one_in_the_site(repository: str, site: str) -> None:
    assert indented(repository) == site
