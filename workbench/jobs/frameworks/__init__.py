"""Volcano's job plugins, one file each, as pure functions on a Job and its pods."""
