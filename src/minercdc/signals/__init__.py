"""Signals to a running connector, and the snapshots they request."""
