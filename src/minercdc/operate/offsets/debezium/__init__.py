"""Migration from Debezium: converts its offsets and its schema history."""
