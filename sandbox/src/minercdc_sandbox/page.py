"""The text of sandbox/docs/sandbox.md, from the tables that the sandbox works with: `python -m minercdc_sandbox.page` prints it.

The lists of emulated and refused features are tables of the code. Errors and refusals are read out of the source text: every
`OraError(number, "text", ..)` in it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from minercdc_sandbox import faults, faults_package
from minercdc_sandbox.logminer.mining import Option
from minercdc_sandbox.server import ALL_PROCEDURES
from minercdc_sandbox.sql.commands.registry import COMMANDS, REMARKS
from minercdc_sandbox.sql.declare import TYPES, UNKNOWN_TYPES
from minercdc_sandbox.sql.functions import registry
from minercdc_sandbox.sql.functions.absent import UNKNOWN_HERE
from minercdc_sandbox.sql.functions.aggregates import AGGREGATES
from minercdc_sandbox.sql.functions.windows import ANALYTIC
from minercdc_sandbox.statements import KINDS
from minercdc_sandbox.views.families import ALL_VIEWS
from minercdc_sandbox.wire import functions as calls
from minercdc_sandbox.wire.negotiation import PROFILES

_INTRODUCTION = """\
# The sandbox: what of Oracle it emulates

<!-- Made from the code's own tables: `make docs`. -->

Look up here whether the sandbox emulates what you need. It is an Oracle-compatible server for tests and demos: `minercdc sandbox --port 1521` serves the container database
`ORCLCDB` with the pluggable database `ORCLPDB1` to unmodified drivers. It keeps row versions by SCN, writes redo, and has
LogMiner. What it does not know it refuses, mostly with `ORA-03001: unimplemented feature: ..` naming the feature; nothing is
accepted and ignored but storage clauses, optimizer hints and a few session parameters.

| Start with | to get |
|---|---|
| `--profile 19c` or `23ai` (default) | the protocol, banner, types and LogMiner dialect of that release |
| `--data DIR` | a database that outlives the process, also a killed one; without it, it ends with the process |
| `--seed FILE` | SQL run in a new database before clients may connect |
| `--tls-cert FILE --tls-key FILE` | TCPS in place of TCP |
| `--max-string-size extended` | VARCHAR2 and RAW up to 32767 bytes |

Users: `SYS` and `SYSTEM` (password `oracle`), `C##MINERCDC` (`minercdc`) with what a connector needs.
"""

_NOTES = """\
## What to know before relying on it

* **Rows.** Statement-level read consistency by SCN, read-only and serializable transactions, row and table locks, deadlock
  detection, flashback queries, `VERSIONS BETWEEN`, `ORA_ROWSCN` (of the block unless ROWDEPENDENCIES).
* **Redo.** Private strands, log groups and members, archive destinations, one to four redo threads, several pluggable databases, RESETLOGS. There is no
  direct path, no flashback of the whole database. Each partition is an object of its own in redo; indexes stay usable whatever
  is done to partitions, as with UPDATE INDEXES.
* **LOBs with DISABLE STORAGE IN ROW.** Every value that is not empty has LOB rows. That of a BasicFile is written without a locator
  before its INSERT, which leaves the column out (redpanda-data/connect#4430, #4574). How real redo has its NULL, its UPDATE, and
  several such rows of one statement is not published: they are as those of other BasicFiles, a row at a time.
* **SQL_REDO** follows the session's NLS formats and time zone, the profile's LOB dialect, and supplemental logging as declared.
* **Regions.** Time zones come from the host's time zone data; region ids are the sandbox's own. Repeated hours are standard time.
* **Dates.** Julian calendar until 4 October 1582, as Oracle; the Julian day (`J`) of years BC is one less than Oracle's.
* **Everything about Oracle** comes from its documentation and from others' measurements; no Oracle was compared side by side.
"""


def page() -> str:
    """The text of the page, in Markdown, ending in a newline; reads the source files of the package."""
    return "\n".join(
        [
            _INTRODUCTION,
            _statements(),
            _types(),
            _functions(),
            _packages(),
            _logminer(),
            _views(),
            _clients(),
            _faults(),
            _errors(),
            _refused(),
            _NOTES,
        ]
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _statements() -> str:
    commands = sorted(" ".join(words) for words, _ in COMMANDS)
    rows = [*KINDS.items(), *((words, REMARKS.get(words, "")) for words in commands)]
    clause = (
        "\nOf 23ai: CREATE .. IF NOT EXISTS, ALTER and DROP .. IF EXISTS of tables, views, sequences, synonyms, indexes and users;"
        " of programs and triggers ALTER and DROP only.\n"
    )
    return "## Statements\n\n" + _table(("Statement", "Remarks"), rows) + clause


def _types() -> str:
    return (
        "## Data types\n\n"
        + _table(("Type", "Remarks"), TYPES.items())
        + f"\nRefused: {', '.join(sorted(UNKNOWN_TYPES))}, object types and collections of one's own.\n"
    )


def _functions() -> str:
    def listed(title: str, names: Iterable[str]) -> tuple[str, str]:
        return title, ", ".join(f"`{name}`" for name in sorted(names))

    rows = [
        listed("scalar", {*registry.PLAIN, *registry.RULES}),
        listed("aggregate", AGGREGATES),
        listed("analytic only", set(ANALYTIC) - set(AGGREGATES)),
        listed("known, refused by name", UNKNOWN_HERE),
    ]
    return "## Functions\n\nAggregates may stand with OVER.\n\n" + _table(("Kind", "Functions"), rows)


def _packages() -> str:
    found = defaultdict(list)
    for name in ALL_PROCEDURES:
        package, _, procedure = name.partition(".")
        found[package].append(f"`{procedure}`")
    rows = [(package, ", ".join(sorted(names))) for package, names in sorted(found.items())]
    return "## Packaged procedures\n\n" + _table(("Package", "Procedures"), rows)


def _logminer() -> str:
    rows = [
        (option.name or "", str(int(option)), "ORA-44609" if option is Option.CONTINUOUS_MINE else "yes")
        for option in Option
    ]
    return "## LogMiner options\n\n" + _table(("Option of START_LOGMNR", "Value", "Emulated"), rows)


def _views() -> str:
    rows = [
        (f"`{view.name}`", ", ".join(column.name for column in view.columns))
        for view in sorted(ALL_VIEWS, key=lambda view: view.name)
    ]
    return "## Dictionary and dynamic performance views\n\n" + _table(("View", "Columns"), rows)


def _clients() -> str:
    rows = [(name, str(found.protocol), str(found.field_version)) for name, found in PROFILES.items()]
    numbers = ", ".join(str(number) for number in sorted(calls.FUNCTIONS))
    refused = [(str(number), text) for number, text in sorted(calls.REFUSED.items())]
    return (
        "## Clients\n\n`tests/clients` holds python-oracledb, ojdbc11 and go-ora to the same answers in both profiles.\n\n"
        + _table(("Profile", "TNS version", "TTC field version"), rows)
        + f"\nTTC functions answered: {numbers}. Refused by name:\n\n"
        + _table(("TTC function", "Refused as"), refused)
    )


def _faults() -> str:
    text = (faults_package.__doc__ or "").split("\n\n", 1)
    moments = ", ".join(f"`{moment}`" for moment in faults.MOMENTS)
    return (
        "## Faults\n\nPackage `DBMS_SANDBOX` brings them about by SQL, `SandboxServer.faults` from Python. A call can be hit at "
        + f"{moments}.\n\n```sql\n"
        + "\n".join(line.removeprefix("    ") for line in text[1].splitlines() if line.startswith("    "))
        + "\n```\n"
    )


def _raised() -> Iterator[tuple[int, str]]:
    """Number and text of every `OraError(..)` with a literal number in the package's source, by file and place, each as often as
    it is raised; f-strings with `..` for what they fill in, `..` alone for a text that is an expression."""
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Name("OraError"), [ast.Constant(int(number)), text, *_]):
                    yield number, _text(text)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else ".." for part in node.values)
    return ".."


def _errors() -> str:
    texts: dict[int, set[str]] = defaultdict(set)
    for number, text in _raised():
        texts[number].add(text)
    own = {number: min(found, key=lambda text: (text.count(".."), text)) for number, found in texts.items()}
    rows = [(f"ORA-{number:05d}", text) for number, text in sorted(own.items()) if number not in (3001, 600)]
    return "## Errors\n\n" + _table(("Code", "Text"), rows)


def _refused() -> str:
    head = "unimplemented feature: "
    found = {text.removeprefix(head) for number, text in _raised() if number == 3001 and text.startswith(head)}
    named = sorted(text for text in found if not text.startswith(".."))
    return "## Refused with ORA-03001\n\n" + "\n".join(f"* {text}" for text in named) + "\n"


if __name__ == "__main__":
    print(page(), end="")
