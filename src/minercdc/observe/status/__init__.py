"""What a connector is doing, for people: a page, JSON, a sentence; and looks at the source's views."""
