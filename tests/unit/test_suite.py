"""How the suite is cut: what the gate leaves out exists, every test has a part, a change has its targets, mutants are Python."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from tests import durations, whole
from tests.changed import RULES, targets
from tests.durations import Spent, of_directory, over_budget, recorded, tree_cpu_seconds
from tests.gate import LEFT_OUT, left_out, other_strategies, scope
from tests.mutants import ROOT, mutants
from tests.quick import dear
from tests.whole import PARTS, Result, result_of, table

TEST_FILES = [
    path.relative_to(ROOT).as_posix() for folder in ("tests", "sandbox/tests") for path in (ROOT / folder).rglob("test_*.py")
]


@pytest.mark.parametrize("entry", LEFT_OUT)
def test_what_the_gate_leaves_out_is_there(entry: str) -> None:
    file, _, name = entry.partition("::")
    if not name:
        assert (ROOT / file).exists()
        return
    functions = {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
    assert name.partition("[")[0] in functions | {"*"}


def test_an_entry_means_the_test_and_its_cases_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tests.gate.LEFT_OUT", {"a/": "", "b.py": "", "c.py::test_x": "", "d.py::test_x[1": "", "e.py::*[1": ""}
    )
    out = [
        "a/e.py::test_x",
        "b.py::test_x",
        "c.py::test_x",
        "c.py::test_x[2]",
        "d.py::test_x[1-2]",
        "e.py::test_y[1]",
    ]
    kept = [
        "ab.py::test_x",
        "c.py::test_x_and_y",
        "d.py::test_x[2]",
        "b.pyi::test_x",
        "e.py::test_y",
        "e.py::test_y[2-1]",
        "f/e.py::test_y[1]",
    ]
    assert [test for test in out + kept if left_out(test)] == out


def test_the_quick_run_leaves_out_the_files_whose_tests_are_the_dearest() -> None:
    tests = {"many": 100, "few": 2, "one": 1, "new": 5}
    spent = {"many": 50.0, "few": 30.0, "one": 20.0, "gone": 99.0}
    assert [dear(tests, spent, most) for most in (100, 99, 70, 0)] == [
        set(),
        {"one"},
        {"one", "few"},
        {"one", "few", "many"},
    ]


def test_both_strategies_are_run_by_turns() -> None:
    file = "tests/sandbox_capture/test_capture.py::"
    alike = [f"{file}test_{name}[{case}]" for name in "ab" for case in ("uncommitted-1", "committed-1")]
    apart = [
        f"{file}test_c[uncommitted]",
        f"{file}test_d[committed-1]",
        f"{file}test_d[uncommitted-2]",
        f"{file}test_e[open-committed]",
    ]
    others = [f"tests/e2e/test_plan.py::test_a[{case}]" for case in ("uncommitted", "committed")]
    releases = [f"{file}test_f[{case}]" for case in ("19c-buffered-1", "23ai-committed-1")]
    assert other_strategies([*alike, *apart, *others, *releases]) == {alike[1], alike[2], releases[1]}


def test_every_file_of_tests_is_in_a_part_and_the_gate_can_run_it() -> None:
    arguments = {argument for part in PARTS.values() for argument in part.arguments}
    assert [
        file
        for file in TEST_FILES
        if not any(file.startswith(argument) for argument in arguments if argument.startswith(("tests/", "sandbox/")))
    ] == []
    assert [
        argument for argument in arguments if argument.startswith(("tests/", "sandbox/")) and not (ROOT / argument).exists()
    ] == []


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["docs/lake.md", "CHANGELOG.md", "docs/capture/olr.md"], ["lint", "docs-test"]),
        (["README.md"], ["test"]),
        (["src/minercdc/lake/merge/scheduler.py", "docs/lake.md"], ["test"]),
        (["sandbox/src/minercdc_sandbox/page.py"], ["test", "test-all PART='unit sandbox'"]),
        (["sandbox/docs/sandbox.md"], ["lint", "docs-test"]),
        (["docs/signals.md"], ["test"]),
        (["docs/first-lake.md", "docs/lake.md"], ["lint", "docs-test", "test-all PART=e2e"]),
        ([".github/workflows/nightly.yml"], ["lint", "unit UNIT=all"]),
        (["src/minercdc/native/scan.c"], ["test", "test-all PART='python fuzz'"]),
        (["compose.yaml", "compose/local.yaml"], ["test", "containers"]),
        (["tests/checker/judge.py", "docs/lake.md"], ["test", "test-all PART=models"]),
        (["a/new/file"], ["test"]),
        ([], []),
    ],
)
def test_a_change_needs_these_targets(files: list[str], wanted: list[str]) -> None:
    assert targets(files) == wanted


def test_the_rules_name_targets_and_parts_that_there_are() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for each in RULES.values():
        for target in each:
            name, _, variable = target.partition(" ")
            assert f"\n{name}:" in makefile
            kind, _, value = variable.partition("=")
            known = {"": {""}, "UNIT": {"all"}, "PART": {*PARTS}}
            assert set(value.strip("'").split(" ")) <= known[kind]


def test_a_base_that_git_does_not_know_is_no_change_without_targets() -> None:
    ran = subprocess.run(
        ["make", "--old-file", ".venv/installed", "changed", "BASE=no-such-base"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2, ran.stdout
    assert "what has changed since no-such-base is not known" in ran.stderr


def test_every_pure_test_of_a_page_is_among_those_of_documents() -> None:
    makefile = (ROOT / "Makefile").read_text()
    listed = re.search(r"^DOCS_TESTS := (.*) \$\(addprefix tests/unit/,(.*)\)$", makefile, re.MULTILINE)
    assert listed
    among = {*listed[1].split(), *(f"tests/unit/{name}" for name in listed[2].split())}
    assert [path for path in among if not (ROOT / path).exists()] == []
    page = re.compile(r'/ "docs"|ROOT / "[A-Z]+\.md"')
    reading = {path for path in TEST_FILES if "/unit/" in path and page.search((ROOT / path).read_text())}
    assert reading - among - {"tests/unit/test_suite.py"} == set()


def test_a_file_over_its_budget_is_named() -> None:
    spent = {"a": Spent(1, 30), "b": Spent(1, 30), "c": Spent(1, 3), "d": Spent(1, 30)}
    lines = list(over_budget(spent, {"a": 14.9, "b": 15.0, "c": 1.0}))
    assert [line.split(" took")[0] for line in lines] == ["over budget: a", "no budget: d"]


def test_each_run_has_budgets_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The night plays more of a file than the gate does, and parts run tests again: on the Python path, with hundreds of seeds."""
    kept, file, other = "tests/unit/test_words.py", "tests/unit/test_docs.py", "tests/site/test_site.py"
    runs = {
        "gate": {f"{file}::a": 1.0},
        "gate-containers": {f"{other}::a": 2.0},
        "unit": {f"{file}::a": 4.0, f"{file}::b": 8.0},
        "python": {f"{file}::a": 99.0, "tests/unit/values/test_codec.py::a": 16.0},
    }
    paths = [tmp_path / f"{run}.durations.json" for run in runs]
    for path, tests in zip(paths, runs.values(), strict=True):
        path.write_text(json.dumps({test: [1.0, cpu, {}] for test, cpu in tests.items()}))
    (tmp_path / "CONTRIBUTING.md").write_text("before\n<!-- durations -->\nold\n<!-- /durations -->\nafter\n")
    for name in (kept, file, other, "tests/unit/values/test_codec.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "durations.json").write_text(json.dumps({"gate": {kept: 5.0, "test_gone.py": 6.0, file: 7.0}}))
    monkeypatch.setattr(durations, "ROOT", tmp_path)
    monkeypatch.setattr(durations, "RECORDED", tmp_path / "durations.json")
    for order in (paths, paths[::-1]):
        durations.main(list(map(str, order)))
        assert recorded() == {kept: 5.0, file: 1.0, other: 2.0}
        assert recorded("unit") == {file: 12.0}
        assert recorded("python") == {file: 99.0, "tests/unit/values/test_codec.py": 16.0}
        assert (tmp_path / "CONTRIBUTING.md").read_text().splitlines() == [
            "before",
            "<!-- durations -->",
            "| directory | tests of all | CPU s | tests of the gate | CPU s |",
            "|---|--:|--:|--:|--:|",
            "| tests/unit/values | 1 | 16 | 0 | 0 |",
            "| tests/unit | 2 | 12 | 1 | 1 |",
            "| tests/site | 0 | 0 | 1 | 2 |",
            "| together | 3 | 28 | 2 | 3 |",
            "<!-- /durations -->",
            "after",
        ]


def test_a_run_is_known_by_the_file_that_it_is_measured_into() -> None:
    assert [
        durations.run_of(path) for path in ("", "x.json", "a/gate.durations.json", "gate-containers.durations.json")
    ] == ["gate"] * 4
    assert durations.run_of(".test-all/spark40.durations.json") == "spark40"
    makefile = (ROOT / "Makefile").read_text()
    assert "\ntest: export MINERCDC_DURATIONS ?= .test-all/gate.durations.json\n" in makefile
    assert "\ncontainers: export MINERCDC_DURATIONS ?= .test-all/gate-containers.durations.json\n" in makefile


def test_what_a_variable_switches_on_is_switched_on_by_a_part() -> None:
    switch = re.compile(r'skipif\(\s*"(MINERCDC_\w+)" not in os\.environ')
    switches = {name for path in TEST_FILES for name in switch.findall((ROOT / path).read_text())}
    assert switches
    assert switches - {name for part in PARTS.values() for name in part.environment} == set()


def test_a_part_whose_packages_cannot_be_had_fails_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none_to_be_had(name: str, packages: Sequence[str]) -> str:
        raise subprocess.CalledProcessError(1, ["pip", "install", *packages])

    monkeypatch.setattr(whole, "ROOT", tmp_path)
    monkeypatch.setattr(whole, "RESULTS", tmp_path / ".test-all")
    monkeypatch.setattr(whole, "sources", lambda: "digest")
    monkeypatch.setattr(whole, "PARTS", {"a": whole.Part("one", (), packages=["x"]), "b": whole.Part("two", ())})
    monkeypatch.setattr(whole, "python_of", lambda name, packages: none_to_be_had(name, packages) if packages else "true")
    assert whole.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines[-2:]] == ["a FAILED", "b passed"]
    assert whole.main(["b"]) == 0
    assert capsys.readouterr().out.startswith("b has passed on these sources")


def test_a_sleep_of_more_than_20_ms_says_why() -> None:
    """A look at what is waited for costs the wait half of its pause; a test waits for an event where there is one."""
    silent = []
    for folder in ("tests", "sandbox/tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                pause = re.search(r"^\s*time\.sleep\(([\d.]+)\)(\s+#)?", line)
                if pause and float(pause[1]) > 0.02 and not pause[2]:
                    silent.append(f"{path.relative_to(ROOT)}:{number}")
    assert silent == []


def test_what_containers_take_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.durations.elsewhere", [lambda: 1000.0, lambda: 500.0])
    assert tree_cpu_seconds() > 1500


def test_the_lakes_tests_share_two_sessions_that_have_about_as_much_to_do() -> None:
    costs: dict[str, float] = {}
    for file, cost in recorded().items():
        if file.startswith("tests/spark/") and not left_out(file):
            costs[scope(f"{file}::test")] = costs.get(scope(f"{file}::test"), 0.0) + cost
    assert costs.keys() == {"tests/spark 1", "tests/spark 2"}
    assert max(costs.values()) < 1.2 * min(costs.values())
    assert scope("tests/spark/test_notebook.py::test") in costs, "a file without a budget"
    assert scope("tests/e2e/test_plan.py::test") == "tests/e2e/test_plan.py"


def test_tests_are_grouped_by_the_folder_that_says_what_they_need() -> None:
    assert [of_directory(test) for test in ("tests/unit/capture/logminer/test_undo.py::b", "tests/spark/test_lake.py::b", "sandbox/tests/unit/sql/test_plsql.py::b")] == [
        "tests/unit/capture", "tests/spark", "sandbox/tests/unit",
    ]  # fmt: skip


def test_the_closing_lines_of_a_part_are_read() -> None:
    output = "...\n12 tests took 34 s of CPU\n2 failed, 9 passed, 1 skipped, 3 warnings, 1 error in 5.00s (0:00:05)\n"
    result = result_of(output, "digest", 1, 5.4)
    assert (result.passed, result.failed, result.skipped, result.cpu_seconds, result.seconds) == (9, 3, 1, 34.0, 5)


def test_the_table_says_what_is_not_known_of_these_sources() -> None:
    old, failed = Result("old", 0, passed=5), Result("new", 1, failed=1)
    lines = {line.split()[0]: line for line in table({"unit": old, "e2e": failed}, "new")}
    assert set(lines) == {"part", *PARTS}
    assert "older sources" in lines["unit"]
    assert "FAILED" in lines["e2e"]
    assert "not run" in lines["spark"]


def test_mutants_are_python_and_differ(tmp_path: Path) -> None:
    for path in ("src/minercdc/schema/tables.py", "src/minercdc/lake/merge/pending.py", "src/minercdc/pipeline/engine.py"):
        source = (ROOT / path).read_text()
        copy = tmp_path / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        every = list(mutants(Path(path)))
        assert every
        for mutant in random.Random(1).sample(every, min(10, len(every))):
            copy.write_text(source)
            mutant.apply(tmp_path)
            assert ast.dump(ast.parse(copy.read_text())) != ast.dump(ast.parse(source))


def test_every_part_runs_at_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    assert nightly["jobs"]["part"]["strategy"]["matrix"]["part"] == list(PARTS)


def test_the_workflow_runs_nothing_twice_and_the_other_pythons_the_pure_tests_alone() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    ran = {name: [(step["run"], step.get("if", "")) for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert ran == {
        "gate": [
            ("make install PYTHON=python", ""),
            ('make changed BASE="origin/$GITHUB_BASE_REF"', "github.event_name == 'pull_request'"),
            ("bash .ci/run", "github.event_name == 'push'"),
        ],
        "unit": [("make install PYTHON=python", ""), ("make unit UNIT=all", "")],
    }


def test_a_test_that_passes_when_it_is_run_again_is_named_and_the_gate_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from pathlib import Path\nSEEN = Path(__file__).with_name('seen')\n"
        "def test_shaky():\n    if not SEEN.exists():\n        SEEN.touch()\n        raise AssertionError\n"
        "def test_broken():\n    raise AssertionError\n"
        "def test_sound():\n    pass\n"
    )
    command = f"{sys.executable} -m pytest -q -o addopts= -o cache_dir={tmp_path}/cache {tmp_path}/test_it.py"
    ran = subprocess.run(
        ["make", "--silent", "--eval", f"probe: ; $(call tested,{command})", "probe"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PYTEST_ADDOPTS")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2, ran.stderr
    named = [line for line in ran.stdout.splitlines() if line.startswith("passed only when run again: ")]
    assert len(named) == 1
    assert named[0].endswith("test_it.py::test_shaky")
    assert "1 failed, 1 passed" in ran.stdout.splitlines()[-1], ran.stdout
