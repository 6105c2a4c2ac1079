"""The status of a connector for people: a page, JSON, a sentence; and readings of the source's views."""
