"""Joins the rows of a large value (LOB, XML document, extended string) to one change of its row."""
