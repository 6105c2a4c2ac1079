"""Fetches the rows of queries: as columns or rows, ahead of the consumer, and converted to Row text."""
