"""The running lake: the table topics as one stream into the change log."""
