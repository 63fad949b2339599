"""Access to network endpoints, always only the one that the user named.

No other package of the workbench opens sockets.
"""
