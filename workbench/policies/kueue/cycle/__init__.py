"""Kueue's scheduling cycle: quota, flavors, topology, preemption and the queues of pending workloads."""
