"""Prints a JAVA_HOME with which Spark's own programs start, also where the only Java is the packaged one:
`export JAVA_HOME="$(python -m minercdc.local.java_home)"`.

The packaged runtime by itself lacks a module that Spark's launcher always requests.
"""

from __future__ import annotations

import sys

from minercdc.errors import LocalServiceError
from minercdc.local.spark import prepare_java


def main() -> None:
    """Print it. Raises SystemExit with the message where there is no Java that will do."""
    try:
        print(prepare_java())
    except LocalServiceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
