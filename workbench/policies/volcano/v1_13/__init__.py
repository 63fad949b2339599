"""Volcano 1.13: a job with a hard topology constraint is placed in one HyperNode, remembered as its record."""
