"""Kueue 0.19: topology-aware placement of the pod sets of a workload (Topology Aware Scheduling, TAS)."""
