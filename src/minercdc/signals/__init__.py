"""Receives signals to a running connector, acts on them, and reads the tables that they request."""
