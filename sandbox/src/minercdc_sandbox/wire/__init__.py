"""The wire: Oracle Net packets and the TTC calls inside them, one file per message family."""
