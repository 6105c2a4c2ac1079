"""Commands that have commands of their own, and the order of their arguments."""
