"""Topologies of HyperNodes: building, generating, drawing, checking and comparing them."""
