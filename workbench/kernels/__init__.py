"""Python interfaces of the compiled kernels: each function checks its arguments before it calls compiled code."""
