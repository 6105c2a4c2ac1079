"""The connector's HTTP port, which replaces Debezium's JMX."""
