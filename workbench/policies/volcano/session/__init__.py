"""Sessions of Volcano: its queues, its actions, and the turns in which jobs are tried."""
