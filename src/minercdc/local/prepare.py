"""Fetches the jars of the broker and Spark, and sets Java and Python up for it, so that nothing is fetched or written later:
`python -m minercdc.local.prepare`.

For images whose file system is read-only when they run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from minercdc.local.artifacts import BROKER
from minercdc.local.jars import cache_directory, fetch, forget_downloads
from minercdc.local.programs import python_program
from minercdc.local.spark import prepare_java
from minercdc.local.spark_artifacts import installed_spark, spark_jars

if __name__ == "__main__":
    jars = [*fetch("kafka-broker", BROKER), *fetch("spark", spark_jars(installed_spark()))]
    forget_downloads()
    prepare_java()
    for python in Path(sys.executable).parent.glob("python*"):  # a command may be started by another of its names
        python_program(str(python), cache_directory())
    print(f"{len(jars)} jars in {cache_directory()}")
