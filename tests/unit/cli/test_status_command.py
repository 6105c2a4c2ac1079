"""`minercdc status`, and the log as JSON."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from rich.console import Console
from rich.table import Table

from minercdc.cli.json_log import JsonLines
from minercdc.cli.output import output
from minercdc.cli.status import view
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.status.history import History
from minercdc.observe.status.model import Status
from minercdc.stream.counters.connector import Counters, TableScan
from minercdc.stream.counters.mining import BufferedTransaction
from minercdc.stream.counters.source import SourceFigures, SourceTransaction

NOW = 1_000_000.0


def printed(counters: Counters) -> str:
    status = Status(counters, Watch(counters), History(counters, lambda: NOW), {"name": "shop"}, now=lambda: NOW)
    console = Console(file=io.StringIO(), width=140, highlight=False)
    console.print(view(json.loads(json.dumps(status.document()))))
    out = console.file
    assert isinstance(out, io.StringIO)
    return out.getvalue()


def test_the_view_has_what_matters_and_takes_names_as_they_are() -> None:
    counters = Counters(phase="snapshot", since_us=int((NOW - 20) * 1e6))
    counters.scans = [TableScan("S.[bold]T", 5, 10)]
    counters.events["r"] = counters.tables["S.[bold]T"] = 5
    counters.source = SourceFigures(NOW, (SourceTransaction("aa", "U", "sqlplus", "h", 1, 2, 90.0, 3),), 1)
    counters.mining.open = (
        BufferedTransaction("aa", "U", int((NOW - 90) * 1e6), 2, 44, 0),
        BufferedTransaction("bb", "V", 0, 2, 7, 0),
    )
    counters.redo.add([("S", "OUT", 3, 300)], frozenset())
    text = printed(counters)
    for part in (
        "shop UP  Reading the initial snapshot",
        "lag at least 20.0 s",
        "S.[bold]T",
        "sqlplus",
        "44",
        "bb",
        "S.OUT",
        "100.0 %",
    ):
        assert part in text, text
    assert text.count("aa ") == 1, "a transaction that both know is one line"


def test_while_it_is_down_the_sentence_is_red() -> None:
    counters = Counters(phase="reconnecting", trouble="ORA-12541: no listener")
    status = Status(counters, Watch(counters), History(counters, lambda: NOW), {"name": "shop"}, now=lambda: NOW)
    console = Console(file=io.StringIO(), width=300, highlight=False, force_terminal=True, color_system="standard")
    console.print(view(json.loads(json.dumps(status.document()))))
    out = console.file
    assert isinstance(out, io.StringIO)
    assert "\x1b[31mWaiting, and trying again, since ORA-12541: no listener" in out.getvalue()


def test_into_a_pipe_lines_are_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    console = output()
    console.print("x" * 300 + " y")
    table = Table("a", "b")
    table.add_row("one value of several words " * 8, "2")
    console.print(table)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "x" * 300 + " y"
    assert sum("several words" in line for line in lines) == 1
    assert max(map(len, lines)) < 400


def test_a_line_of_the_log_is_a_document() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        record = logging.LogRecord("minercdc.x", logging.ERROR, "f", 1, 'a "%s"\nline', ("b",), sys.exc_info())
    text = JsonLines("shop").format(record)
    assert "\n" not in text
    document = json.loads(text)
    assert (document["level"], document["logger"], document["message"]) == ("ERROR", "minercdc.x", 'a "b"\nline')
    assert document["connector"] == "shop"
    assert document["time"].endswith("+00:00")
    assert "ValueError: why" in document["exception"]
