"""Scheduling sessions of Volcano: queues, actions, and the rounds in which jobs get nodes."""
