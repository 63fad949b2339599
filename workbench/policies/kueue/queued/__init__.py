"""Kueue's queues on a snapshot: gangs as workloads, sessions of scheduling cycles, pods on nodes."""
