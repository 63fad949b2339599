"""HyperJob: its Jobs, and its status computed from theirs, as pure functions."""
