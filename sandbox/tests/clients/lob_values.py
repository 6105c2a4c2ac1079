"""What the LOB tests of all drivers write."""

LONG_TEXT = "a\u00e9\u4e2d\U0001f600" * 30_000
LONG_BYTES = bytes(range(256)) * 800
TABLE = "create table lobs (id number(10) primary key, c clob, n nclob, b blob)"
