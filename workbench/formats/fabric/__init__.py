"""Readers of network topologies from other tools' files and from node labels, one module per format."""
