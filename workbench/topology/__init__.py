"""HyperNodes into a topology: building, generating."""
