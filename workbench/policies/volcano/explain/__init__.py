"""Explanations of Volcano's decisions: nodes, HyperNodes and nearest misses."""
