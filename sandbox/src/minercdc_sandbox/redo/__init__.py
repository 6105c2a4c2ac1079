"""Change records in redo order: private strands, log groups, switch, archive."""
