"""Policies that follow Volcano's schedulers, from `allocate` without topology to the newest topology search."""
