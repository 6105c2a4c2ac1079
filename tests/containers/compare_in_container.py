"""Runs in a container of the lake image: compares the source's tables with the Delta tables of the volume, as often as a line comes in.

Each line of standard input names a schema; each answer is a line of JSON: rows compared and what differs.
"""

import json
import os
import sys

import oracledb
from pyspark.errors import PySparkException

from minercdc.local.demo.compare import differences, free_numbers, read_oracle, rows_of_lake
from minercdc.local.spark import local_spark

oracledb.defaults.fetch_decimals = True
interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # sooner for few rows
spark = local_spark("compare", settings=interpreted)
for line in sys.stdin:
    owner = line.strip()
    rows, found = 0, []
    with oracledb.connect(user="SYSTEM", password="oracle", dsn=os.environ["DSN"]) as connection:
        free = free_numbers(connection, owner)
        for table in read_oracle(connection, owner):
            rows += len(table.rows)
            path = "/var/lib/lake/" + table.name.replace(".", "/")
            try:
                lake = rows_of_lake(spark.read.format("delta").load(path), table, free.get(table.name, ()))
            except PySparkException as error:
                found.append(f"{path}: {str(error).splitlines()[0]}")
            else:
                found += [str(difference) for difference in differences(table, lake)]
    print("answer", json.dumps({"rows": rows, "differences": len(found), "first": found[:3]}), flush=True)
