"""What an operator does with a connector: check, plan, offsets, signals, verify, tail, recordings, bundles."""
