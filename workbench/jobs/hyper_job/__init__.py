"""HyperJob of volcano-global: the Jobs that it creates, and its status computed from theirs, as pure functions."""
