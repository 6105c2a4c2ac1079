"""The program for spark-submit: `minercdc lake` in the application that it starts.

    spark-submit OPTIONS .../minercdc/cli/submit.py [verify | snapshot] CONFIG

Its arguments are those of `minercdc lake`.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run `minercdc lake` with the arguments of this process, and end the process as that does. Changes `sys.path` and
    `sys.argv`."""
    here = str(Path(__file__).parent)
    # spark-submit puts the directory of its file before all others: our packages would pass for others of the same name.
    sys.path[:] = [entry for entry in sys.path if entry != here]
    from minercdc.cli import main as command

    sys.argv[1:1] = ["lake"]
    command()


if __name__ == "__main__":
    main()
