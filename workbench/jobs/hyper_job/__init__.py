"""HyperJob: the Jobs that it becomes, and what their states say of it, as pure functions."""
