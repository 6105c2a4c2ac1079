"""The connector's HTTP port: what JMX is to Debezium."""
