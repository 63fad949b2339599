"""Groups of pods as kube-scheduler 1.37 places them: gangs, trees of groups, and placements by topology domain."""
