"""Fetches the jars that a lake needs on the installed Spark, unless they are cached, and prints their paths, as `--jars` of Spark's own programs
takes them: `spark-submit --jars "$(python -m minercdc.local.spark_jars)" ..`, with the argument `iceberg` for that format.
"""

from __future__ import annotations

import sys
from typing import cast, get_args

from minercdc.errors import LocalServiceError
from minercdc.local.jars import fetch
from minercdc.local.spark_artifacts import Format, installed_spark, spark_jars


def main(arguments: list[str]) -> None:
    """Print them. Raises SystemExit with the message where there are none, or the argument is no format."""
    form = arguments[0] if arguments else "delta"
    if form not in get_args(Format):
        sys.exit(f"{form} is no format of tables; there are {', '.join(get_args(Format))}")
    try:
        print(",".join(map(str, fetch("spark", spark_jars(installed_spark(), cast(Format, form))))))
    except LocalServiceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
