"""Reads rows and structures of tables as of one SCN, before streaming begins; and large values of single rows while it goes
on."""
