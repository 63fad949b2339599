"""Gangs of the pods that a top owner owns: the rules of each kind, and what the kinds share."""
