"""Koordinator: GPU groups planned as a whole, gangs inside network layers, and its choice of devices."""
