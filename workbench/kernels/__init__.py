"""The compiled kernels behind checked functions: arguments are validated, and errors are put into words."""
