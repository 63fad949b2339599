"""Volcano's schedulers, one file per concept."""
