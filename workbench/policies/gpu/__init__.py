"""GPU policies: choose the GPUs that a pod gets on its node."""
