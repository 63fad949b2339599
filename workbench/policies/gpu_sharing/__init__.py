"""Policies that let pods share GPUs: fragmentation gradient descent, those it was compared with, and our own."""
