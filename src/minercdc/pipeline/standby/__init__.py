"""Waits until the owner of a connector's name is dead, with all that a start needs at hand."""
