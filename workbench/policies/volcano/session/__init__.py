"""Scheduling sessions of Volcano: queues, actions, and the rounds (turns) in which jobs get nodes."""
