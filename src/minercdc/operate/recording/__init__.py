"""Keeps a mining session in a file: recorded where the database is, decoded again where it is not (`minercdc record`, `minercdc
replay`)."""
