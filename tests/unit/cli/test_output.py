"""What commands print goes to any terminal, and says what is waited for."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from minercdc.cli import main, output
from minercdc.cli.output import PlainLines, WithoutPy4j
from minercdc.local.demo.play import look_inside
from minercdc.local.demo.view import Scene, shown


def narrow(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", write_through=True)


def content(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(stream.encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "Ж.yaml"],
        ["types"],
        ["--help"],
        ["lake", "status", "Ж.yaml"],
        ["signal", "Ж.yaml", "log", "é"],
        ["config"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_what_cannot_be_encoded_is_replaced(monkeypatch: pytest.MonkeyPatch, encoding: str, arguments: list[str]) -> None:
    out, err = narrow(encoding), narrow(encoding)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("sys.argv", ["minercdc", *arguments])
    monkeypatch.setattr("minercdc.cli.stopping.Stop.__init__", lambda *_, **__: None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, 2)
    said = content(out) + content(err)
    assert said
    if "Ж.yaml" in arguments:
        assert "?.yaml" in said


def test_a_line_of_the_log_begins_with_its_time_in_utc() -> None:
    record = logging.LogRecord("minercdc", logging.INFO, "f", 1, "mining", (), None)
    record.created = 1_795_939_200.5
    assert PlainLines("%(asctime)s %(levelname)-7s %(message)s").format(record) == "2026-11-29T08:00:00.500Z INFO    mining"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_waited_for_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(output, "errors", Console(file=written))
    with output.waiting("the answer") as show:
        show("a part")
    assert written.getvalue() == "waiting for the answer\n"


def test_on_a_terminal_the_line_has_what_came_last(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Terminal()
    monkeypatch.setattr(output, "errors", Console(file=written, force_terminal=True, width=100))
    with output.waiting("the answer") as show:
        show("[the] first part")
    assert "waiting for the answer; [the] first part" in written.getvalue()


def test_the_demo_prints_as_it_happens_where_there_is_no_terminal() -> None:
    written, scene = io.StringIO(), Scene()
    with shown(scene, Console(file=written), seconds=0) as draw:
        scene.say("log switch")
        scene.lake = {"ORDERS": 7}
        draw()
        first = written.getvalue()
        draw()
        assert written.getvalue().count("log switch") == 1
    assert "log switch" in first
    assert "7 rows in the lake" in first


def test_the_demo_says_how_to_look_inside(tmp_path: Path) -> None:
    (line,) = look_inside(None)
    assert line.endswith("minercdc demo --directory minercdc-demo")
    assert look_inside(None, "iceberg") == [f"{line} --format iceberg"]
    work = tmp_path / "a b"
    work.mkdir()
    (work / "shop.yaml").write_text("minercdc.kafka.bootstrap.servers: 127.0.0.1:39092\n")
    lines: Any = "\n".join(look_inside(work))
    assert "minercdc kafka --port 39092 --data '" in lines
    assert f"minercdc tail '{work}/shop.yaml'" in lines
    assert f"{work}/lake/SHOP/ORDERS" in lines
    assert "minercdc.SHOP.ORDERS" in "\n".join(look_inside(work, "iceberg"))


def test_what_py4j_logs_of_a_jvm_that_has_ended_is_not_shown() -> None:
    def record(name: str, path: str) -> logging.LogRecord:
        return logging.LogRecord(name, logging.ERROR, path, 1, "Exception while sending command.", None, None)

    shown = WithoutPy4j().filter
    assert not shown(record("root", "/venv/site-packages/py4j/java_gateway.py"))
    assert shown(record("root", "/home/py4j-user/app.py"))
    assert shown(record("minercdc.lake", "/venv/site-packages/py4j/java_gateway.py"))
