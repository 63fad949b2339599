"""The value classes that all other packages use: topology, bandwidth matrices, gangs (jobs), cluster snapshots,
ledgers, placements.
"""
