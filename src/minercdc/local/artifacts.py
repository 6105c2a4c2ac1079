"""The jars of the servers that we run, by Maven coordinates; `spark_artifacts` has those of Spark.

Listed one by one and fetched without their dependencies: the declared ones do not all exist (`kafka-tools-api` 4.4.0) or drag
in copies of what PySpark ships. The Kafka set is what a single broker with transactions loads; SASL/OAuth and tiered storage
need more.
"""

from __future__ import annotations

_KAFKA = "4.4.0"

BROKER: tuple[str, ...] = (
    *(
        f"org.apache.kafka:{name}:{_KAFKA}"
        for name in (
            "kafka_2.13",
            "kafka-clients",
            "kafka-coordinator-common",
            "kafka-group-coordinator",
            "kafka-group-coordinator-api",
            "kafka-metadata",
            "kafka-raft",
            "kafka-server",
            "kafka-server-common",
            "kafka-share-coordinator",
            "kafka-storage",
            "kafka-storage-api",
            "kafka-transaction-coordinator",
        )
    ),
    "org.hdrhistogram:HdrHistogram:2.2.2",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    "commons-validator:commons-validator:1.10.1",
    "com.dynatrace.hash4j:hash4j:0.22.0",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.7",
    "com.fasterxml.jackson.core:jackson-databind:2.21.7",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.21.7",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "org.jspecify:jspecify:1.0.0",
    "org.apache.logging.log4j:log4j-api:2.25.5",
    "org.apache.logging.log4j:log4j-core:2.25.5",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5",  # without it the broker logs nothing
    "at.yawk.lz4:lz4-java:1.11.2",
    "com.yammer.metrics:metrics-core:2.2.0",
    "org.pcollections:pcollections:4.0.2",
    "com.google.re2j:re2j:1.8",
    "org.scala-lang:scala-library:2.13.18",
    "com.typesafe.scala-logging:scala-logging_2.13:3.9.6",
    "org.slf4j:slf4j-api:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.7",
    "com.github.luben:zstd-jni:1.5.7-17",
)

# A schema registry; its Confluent-compatible API is under /apis/ccompat/v7.
REGISTRY: tuple[str, ...] = ("io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz",)
