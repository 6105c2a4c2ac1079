"""Reads tables as of one SCN."""
