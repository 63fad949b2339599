"""Koordinator: GPU groups planned as a whole, gangs inside network layers, and its shipped choice of devices."""
