"""The LogMiner session: its start, its query, the rows that it gives, and how often it makes a pass."""
