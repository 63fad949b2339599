"""HyperNode topologies: building, generating, drawing, linting and comparing them."""
