"""Kafka: the transactional sink, the topics of the connector, ownership of its name, and clients."""
