"""HyperNodes into a topology: building, linting, generating."""
