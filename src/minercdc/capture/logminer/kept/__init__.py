"""Rows of open transactions in files that survive the process, so that a restart does not mine their beginning again."""
