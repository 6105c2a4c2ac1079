"""LOBs: immutable values in chunks, the locators that name them, reading and writing through a locator, DBMS_LOB."""
