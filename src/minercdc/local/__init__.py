"""Real servers on one machine with no Docker: a Java runtime, jars, a Kafka broker, a schema registry, a Spark session."""
