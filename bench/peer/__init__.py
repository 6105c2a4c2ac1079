"""Debezium and minercdc beside each other, on the same sandbox."""
