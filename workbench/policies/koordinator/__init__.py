"""Koordinator: nodes and GPUs planned for a whole group of pods, gangs inside one network layer, choice of devices."""
