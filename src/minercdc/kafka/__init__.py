"""Events as Kafka records in Debezium's form, and the transactional client that sends them."""
