"""Evaluate placements: metrics, comparison of policies, and regret; no files are read and no pictures drawn here."""
