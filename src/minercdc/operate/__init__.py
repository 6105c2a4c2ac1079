"""Operations on a connector: check, plan, offsets, signals, verify, tail, recordings, bundles."""
