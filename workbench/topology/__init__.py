"""Building a topology from HyperNodes, and everything that makes, checks, changes or compares one."""
