"""The values that every room shares: topology, bandwidth, gangs, snapshots, ledgers, placements."""
