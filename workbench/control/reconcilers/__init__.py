"""The controllers of a cluster, one file each."""
