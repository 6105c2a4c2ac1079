"""Reads lake tables as of one SCN, and records of topics as typed rows."""
