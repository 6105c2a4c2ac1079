"""The client of a relay."""
