"""GPU policies: which GPUs of its node a pod gets."""
