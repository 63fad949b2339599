"""Volcano 1.15: a search of HyperNodes for jobs and, inside them, for their sub-jobs."""
