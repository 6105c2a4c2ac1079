"""The commands of `minercdc lake`, and what they print."""
