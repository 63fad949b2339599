"""Convert Kubernetes objects to gangs of pending pods and to running pods."""
