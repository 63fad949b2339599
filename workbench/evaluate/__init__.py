"""Evaluation of placements: metrics, comparison of policies, regret. Nothing here reads a file or draws a picture."""
