"""A release: its version is the same everywhere, its notes are those of the changelog, and its workflow is one that can run."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import deploy.release
import pytest
import yaml
from deploy.release import ROOT, addressed, against, main, notes, prepare, unreleased, version, versions

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
CHANGELOG = """# Changelog

## Unreleased

## 1.1.0 — 2026-11-30

For people, see [the page](docs/lake.md#b) and [this](https://example.com/c).

### Added

* A.

## 1.0.0 — 2026-11-29

### Added

* B.

## 0.9.0

* C.
"""


def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())
    return found


def test_the_notes_are_what_stands_before_the_first_heading() -> None:
    assert notes(CHANGELOG, "1.1.0") == "For people, see the page and [this](https://example.com/c).\n"


def test_the_notes_are_all_entries_where_nothing_stands_before_them() -> None:
    assert notes(CHANGELOG, "1.0.0") == "### Added\n\n* B.\n"


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0", "Unreleased"])
def test_a_version_without_a_date_has_no_notes(version: str) -> None:
    with pytest.raises(ValueError, match=rf"no section '## {version} — YYYY-MM-DD'"):
        notes(CHANGELOG, version)


def test_this_version_is_the_same_everywhere_and_has_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(against(f"v{version()}", versions(), (ROOT / "CHANGELOG.md").read_text())) == []
    assert main(["notes"]) == 0
    assert 300 < len(capsys.readouterr().out) < 5000


def test_what_contradicts_a_tag_is_named() -> None:
    found = {"pyproject.toml": "1.1.0", "sandbox/pyproject.toml": "1.0.0"}
    assert list(against("v1.1.0", found, CHANGELOG)) == ["sandbox/pyproject.toml has 1.0.0, the tag v1.1.0"]
    assert list(against("1.1.0", {}, CHANGELOG)) == ["the tag 1.1.0 does not begin with v"]
    assert list(against("v1.2.0", {}, CHANGELOG)) == ["CHANGELOG.md has no section '## 1.2.0 — YYYY-MM-DD'"]
    assert main(["tag", "v0.0.0"]) == 1


def test_a_tag_ships_nothing_that_is_in_no_version() -> None:
    assert list(unreleased(CHANGELOG)) == []
    assert list(unreleased("## 1.0.0 — 2026-11-29\n\n* A.\n")) == []
    (problem,) = unreleased(CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n### Added\n\n* B.\n"))
    assert "Unreleased" in problem


def test_links_lead_to_the_repository_as_of_the_tag() -> None:
    page = "[![CI](../../actions/ci/badge.svg)](../../actions/ci) [a](docs/lake.md#b) [c](#c) [d](https://d)\n"
    page += '<img src="docs/i.svg"> ![p](docs/p.png)'
    assert addressed(page, "", "https://host/o/r", "v1") == (
        "[![CI](https://host/o/r/actions/ci/badge.svg)](https://host/o/r/actions/ci) "
        "[a](https://host/o/r/blob/v1/docs/lake.md#b) [c](#c) [d](https://d)\n"
        '<img src="https://host/o/r/raw/v1/docs/i.svg"> ![p](https://host/o/r/raw/v1/docs/p.png)'
    )
    assert (
        addressed("[x](docs/sandbox.md) [y](../LICENSE)", "sandbox", "u", "v1")
        == "[x](u/blob/v1/sandbox/docs/sandbox.md) [y](u/blob/v1/LICENSE)"
    )


def test_what_is_published_has_the_address_of_the_repository(tmp_path: Path) -> None:
    for folder in ("", "sandbox"):
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in ("README.md", "pyproject.toml"):
            shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    prepare("https://host/o/r", "v1", tmp_path)
    for folder in ("", "sandbox"):
        project = tomllib.loads((tmp_path / folder / "pyproject.toml").read_text())["project"]
        assert project["urls"]["Repository"] == "https://host/o/r"
        assert project["scripts"] == tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["scripts"]
        readme = (tmp_path / folder / "README.md").read_text()
        targets = re.findall(r'(?:\]\(|src(?:set)?=")([^)"]+)', re.sub(r"^```.*?^```", "", readme, flags=re.M | re.S))
        assert targets
        assert [target for target in targets if not target.startswith(("https://", "http://", "#"))] == []


def test_nothing_is_published_without_a_tag_or_before_all_is_built() -> None:
    jobs = workflow()["jobs"]

    def before(job: str) -> set[str]:
        needs = jobs[job].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(before, direct))

    assert before("publish-sandbox") == {"version", "wheels", "sources", "images"}
    for job in ("publish", "manifests", "release"):
        assert "publish-sandbox" in before(job)
    assert jobs["publish-sandbox"]["if"] == "github.ref_type == 'tag'"
    publishing = [
        step
        for job in ("version", "wheels", "sources", "images")
        for step in jobs[job]["steps"]
        if "login" in step.get("uses", "") or "push=true" in str(step.get("with", {}))
    ]
    assert len(publishing) == 2
    assert {step["if"] for step in publishing} == {"github.ref_type == 'tag'"}


def test_no_token_is_stored_and_a_job_has_no_more_rights_than_it_uses() -> None:
    assert set(re.findall(r"secrets\.(\w+)", WORKFLOW.read_text())) == {"GITHUB_TOKEN"}
    found = workflow()
    assert found["permissions"] == {"contents": "read"}
    rights = {name: job["permissions"] for name, job in found["jobs"].items() if "permissions" in job}
    assert rights == {
        "publish-sandbox": {"id-token": "write"},
        "publish": {"id-token": "write"},
        "images": {"contents": "read", "packages": "write"},
        "manifests": {"packages": "write"},
        "release": {"contents": "write"},
    }
    assert all("timeout-minutes" in job for job in found["jobs"].values())


def test_the_workflow_names_images_and_files_that_there_are() -> None:
    jobs = workflow()["jobs"]
    targets = set(re.findall(r"^FROM \S+ AS (\S+)", (ROOT / "Dockerfile").read_text(), re.M))
    assert (
        set(jobs["images"]["strategy"]["matrix"]["target"])
        == set(jobs["manifests"]["strategy"]["matrix"]["target"])
        <= targets
    )
    commands = set(re.findall(r"python -m deploy\.release (\w+)", WORKFLOW.read_text()))
    assert commands == {"tag", "notes", "prepare", "check"}
    assert all(f"deploy.release {command} " in str(deploy.release.__doc__) for command in commands)
    kept = {
        re.sub(r"\$\{\{.*?\}\}", "", step["with"]["name"])
        for job in jobs.values()
        for step in job["steps"]
        if "upload-artifact" in step.get("uses", "")
    }
    for job in jobs.values():
        for step in job["steps"]:
            if "download-artifact" in step.get("uses", ""):
                names = re.sub(r"\$\{\{.*?\}\}|[{}*]", "", step["with"]["pattern"]).split(",")
                assert all(any(name.startswith(wanted) for name in kept) for wanted in names)


def test_an_image_has_what_it_is_made_of_beside_it() -> None:
    pushed = next(step for step in workflow()["jobs"]["images"]["steps"] if step.get("id") == "pushed")
    assert (pushed["with"]["sbom"], pushed["with"]["provenance"]) == (True, "mode=max")


def test_the_page_names_the_steps_and_settings_of_the_workflow() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text()
    assert {f"`{name}`" for name in re.findall(r"vars\.(\w+)", WORKFLOW.read_text())} <= set(re.findall(r"`[A-Z]+`", page))
    environments = {job["environment"] for job in workflow()["jobs"].values() if "environment" in job}
    assert environments == {"release"}
    assert "the environment `release`" in page
    assert Path(WORKFLOW).name in page
