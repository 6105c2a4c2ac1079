"""What a release is checked by, and its notes.

    python -m deploy.release notes            the section of CHANGELOG.md of this version, for the page of the release
    python -m deploy.release tag v0.1.0       whether everything has that version, and its section has a date
    python -m deploy.release prepare URL TAG  puts the repository's address into links of both README.md and into the metadata
    python -m deploy.release check            builds all distributions into dist/, examines and installs them

The exit status of `tag` is 1 where something contradicts it, with a line for each place.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SECTION = re.compile(r"^## (?P<version>\S+)(?: — (?P<date>\d{4}-\d{2}-\d{2}))?$", re.M)
_CHART = "deploy/helm/minercdc/Chart.yaml"
_IMAGE = re.compile(r'(?P<before>!\[[^\]]*\]\(|\b(?:src|srcset)=")(?P<target>(?!https?:)[^)"\s]+)')
_ANY_LINK = re.compile(r"(?P<before>\]\()(?P<target>(?!https?:|#)[^)\s]+)")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:)[^)]*\)")


def version() -> str:
    """The product's version, of pyproject.toml."""
    return _project(ROOT)


def notes(changelog: str, version: str) -> str:
    """The notes of a version: what its section of the changelog says before the first heading, or all of it where nothing stands there.
    Links into the repository are plain text, since they lead nowhere on the page of a release.

    :raises ValueError: it has no section of the version, or one without a date.
    """
    found = {match["version"]: match for match in _SECTION.finditer(changelog)}
    section = found.get(version)
    if section is None or section["date"] is None:
        raise ValueError(f"CHANGELOG.md has no section '## {version} — YYYY-MM-DD'")
    text = re.split(r"^## ", changelog[section.end() :], maxsplit=1, flags=re.M)[0]
    summary = re.split(r"^### ", text, maxsplit=1, flags=re.M)[0].strip()
    return _LINK.sub(r"\g<text>", summary or text.strip()) + "\n"


def versions() -> Mapping[str, str]:
    """Each place that has the version, and what it has."""
    chart = dict(re.findall(r"^(version|appVersion): (\S+)$", (ROOT / _CHART).read_text(), re.M))
    return {
        "pyproject.toml": _project(ROOT),
        "sandbox/pyproject.toml": _project(ROOT / "sandbox"),
        **{f"{name} of {_CHART}": chart.get(name, "nothing") for name in ("version", "appVersion")},
    }


def against(tag: str, versions: Mapping[str, str], changelog: str) -> Iterator[str]:
    """What contradicts a tag `v<version>`: one line for each place."""
    wanted = tag.removeprefix("v")
    if tag == wanted:
        yield f"the tag {tag} does not begin with v"
    for place, found in versions.items():
        if found != wanted:
            yield f"{place} has {found}, the tag {tag}"
    try:
        notes(changelog, wanted)
    except ValueError as error:
        yield str(error)


def unreleased(changelog: str) -> Iterator[str]:
    """A line where a tag would ship changes that the changelog has in no version."""
    _, _, rest = changelog.partition("## Unreleased\n")
    if re.split(r"^## ", rest, maxsplit=1, flags=re.M)[0].strip():
        yield "CHANGELOG.md has entries under '## Unreleased': they belong to the version that is tagged"


def addressed(readme: str, folder: str, url: str, tag: str) -> str:
    """A page of the repository for readers elsewhere: its links lead to the repository as of a tag.

    :param folder: the page's own, from the root.
    """

    def absolute(found: re.Match[str], view: str) -> str:
        target = found["target"]
        if target.startswith("../../"):  # beside the files, as the pages of a workflow are
            return f"{found['before']}{url}/{target.removeprefix('../../')}"
        return f"{found['before']}{url}/{view}/{tag}/{posixpath.normpath(posixpath.join(folder, target))}"

    images = _IMAGE.sub(lambda found: absolute(found, "raw"), readme)
    return _ANY_LINK.sub(lambda found: absolute(found, "blob"), images)


def with_addresses(pyproject: str, url: str, tag: str) -> str:
    """The metadata of a project, with addresses of the repository."""
    addresses = {
        "Repository": url,
        "Documentation": f"{url}/blob/{tag}/docs/index.md",
        "Changelog": f"{url}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }
    lines = "".join(f'{name} = "{address}"\n' for name, address in addresses.items())
    return pyproject.replace("[project.scripts]\n", f"[project.urls]\n{lines}\n[project.scripts]\n", 1)


def prepare(url: str, tag: str, root: Path = ROOT) -> None:
    """Put the repository's address into what is built: it is known where the workflow runs, not here.

    :param root: the files in it are changed.
    """
    for folder in ("", "sandbox"):
        readme, project = root / folder / "README.md", root / folder / "pyproject.toml"
        readme.write_text(addressed(readme.read_text(), folder, url, tag))
        project.write_text(with_addresses(project.read_text(), url, tag))


def check(dist: Path, root: Path = ROOT) -> None:
    """Build sources and wheels, examine their metadata, and install the wheels in a fresh environment without an index.

    :param dist: the folder that they go to; what is in it is removed.
    :param root: a copy of the repository, or itself.
    :raises subprocess.CalledProcessError: a step fails; its output is on the terminal.
    """
    shutil.rmtree(dist, ignore_errors=True)
    for source in (root, root / "sandbox"):
        # Without further options the wheel is built from the sources' archive: a file that is missing there fails the build.
        _run(sys.executable, "-m", "build", "--outdir", dist, source)
    _run(sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()))
    with tempfile.TemporaryDirectory(prefix="minercdc-release-") as place:
        needed, environment = Path(place) / "needed", Path(place) / "env"
        constraints = ("--constraint", ROOT / "constraints.txt")
        _run(sys.executable, "-m", "pip", "download", "--quiet", *constraints, "--dest", needed, *dist.glob("*.whl"))
        _run(sys.executable, "-m", "venv", environment)
        index = ("--no-index", "--find-links", dist, "--find-links", needed)
        _run(environment / "bin" / "pip", "install", "--quiet", *index, "minercdc[sandbox]")
        _run(environment / "bin" / "minercdc", "--version")
        _run(environment / "bin" / "minercdc", "sandbox", "--help")
    for file in sorted(dist.iterdir()):
        print(f"{file.stat().st_size:>12,} {file.name}")


def _project(folder: Path) -> str:
    return str(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"])


def _run(*words: object) -> None:
    print("+", *words, flush=True)
    # Not here, where Python would take the sources in place of what is installed.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    subprocess.run(list(map(str, words)), check=True, cwd=tempfile.gettempdir(), env=environment)


def main(words: Sequence[str]) -> int:
    """One of the commands of this module; the exit status."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    match words:
        case ["notes"]:
            print(notes(changelog, version()), end="")
        case ["tag", tag]:
            problems = [*against(tag, versions(), changelog), *unreleased(changelog)]
            for problem in problems:
                print(problem)
            return 1 if problems else 0
        case ["prepare", url, tag]:
            prepare(url, tag)
        case ["check"]:
            check(ROOT / "dist")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
