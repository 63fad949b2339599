"""Conversion of a cluster's objects to a snapshot and gangs, at once or change by change, without files or sockets."""
