"""Volcano's job plugins (svc, ssh, pytorch, mpi, ...), one module each, as pure functions on a Job and its pods."""
