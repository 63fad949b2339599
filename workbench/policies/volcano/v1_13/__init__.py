"""Volcano 1.13: one search for a hard job, and the record that it leaves."""
