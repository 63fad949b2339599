"""Placing a job's pods one by one on the nodes of a HyperNode, by the scores of nodes."""
