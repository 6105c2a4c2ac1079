"""Moving over from Debezium: its offsets and its schema history become ours."""
