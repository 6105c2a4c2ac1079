"""Converts values of Oracle's types: one module per family, from redo or driver to Row text and from Row text to JSON."""
