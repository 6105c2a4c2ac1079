"""Reads rows and structures of tables as of one SCN, before streaming begins."""
