"""Which tests a change needs: ``python -m tests.changed BASE`` prints the targets of make for all that differs from BASE.

``make changed BASE=ref`` runs them, and so does the workflow file for a pull request. The rule is `RULES`: the first pattern that fits a file
counts, and a file that none fits needs the gate.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]

# `*` of fnmatch goes over slashes.
RULES: Mapping[str, Sequence[str]] = {
    "README.md": ("test",),  # its blocks are run, as are those of the pages that follow
    **dict.fromkeys(("docs/extensions.md", "docs/signals.md", "docs/snapshots.md"), ("test",)),
    **dict.fromkeys(("docs/capture/txlog.md", "docs/how-to/prepare-oracle.md"), ("test",)),
    **dict.fromkeys(("docs/first-lake.md", "docs/first-pipeline.md"), ("lint", "docs-test", "test-all PART=e2e")),
    "docs/lake.ipynb": ("lint", "docs-test", "test-all PART=spark"),
    "sandbox/*.md": ("lint", "docs-test"),
    "sandbox/*": ("test", "test-all PART='unit sandbox'"),
    "docs/*": ("lint", "docs-test"),
    "*.md": ("lint", "docs-test"),
    "LICENSE": ("lint",),
    ".gitignore": ("lint",),
    ".github/*": ("lint", "unit UNIT=all"),  # which looks into the workflows
    "src/minercdc/native/*": ("test", "test-all PART='python fuzz'"),
    "tests/unit/native/*": ("test", "test-all PART='python fuzz'"),
    "Dockerfile": ("test", "containers"),
    ".dockerignore": ("test", "containers"),
    "compose*": ("test", "containers"),
    "tests/containers/*": ("lint", "containers"),
    "deploy/site/*": ("lint", "docs-test", "site"),
    "mkdocs.yml": ("lint", "docs-test", "site"),
    "deploy/helm/*": ("test", "test-all PART=e2e"),
    "deploy/*": ("test", "containers"),
    "tests/checker/*": ("test", "test-all PART=models"),
    "tests/simulate/*": ("test", "test-all PART=models"),
    "tests/torture/*": ("test", "test-all PART=models"),
    "tests/parity/*": ("lint", "test-all PART=kafka"),
    "bench/*": ("lint", "unit UNIT=all"),
}
GATE = "test"
# The gate lints, and runs the pure tests and those of the documents.
_IN_THE_GATE = frozenset({"lint", "docs-test", "unit UNIT=all"})


def targets(files: Iterable[str]) -> list[str]:
    """Targets of make, each once, the cheapest first."""
    wanted = {target for file in files for target in _of_file(file)}
    if GATE in wanted:
        wanted -= _IN_THE_GATE
    order = ("lint", "docs-test", "unit UNIT=all", GATE, "containers")
    return sorted(wanted, key=lambda target: (order.index(target) if target in order else len(order), target))


def _of_file(file: str) -> Sequence[str]:
    return next((targets for pattern, targets in RULES.items() if fnmatchcase(file, pattern)), (GATE,))


def changed_since(base: str) -> list[str]:
    """Files that differ between `base` and the work tree, those that git does not know yet included.

    :raises SystemExit: git does not know `base`.
    """

    def listed(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments, "-z"], cwd=ROOT, capture_output=True, check=False, text=True)
        if done.returncode:
            raise SystemExit(f"what has changed since {base} is not known: {done.stderr.splitlines()[0]}")
        return list(filter(None, done.stdout.split("\0")))

    # Both names of a file that was moved.
    return listed("diff", "--name-only", "--no-renames", "--merge-base", base) + listed(
        "ls-files", "--others", "--exclude-standard"
    )


if __name__ == "__main__":
    print(*targets(changed_since(sys.argv[1])), sep="\n")
