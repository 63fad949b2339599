"""Policies that follow Volcano's schedulers, from `allocate` without topology to the topology search of 1.15."""
