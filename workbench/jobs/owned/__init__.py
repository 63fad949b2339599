"""Gangs of the pods that a top owner owns: a file of rules per kind, and what the kinds share."""
