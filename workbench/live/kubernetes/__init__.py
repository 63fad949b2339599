"""Reading a live Kubernetes cluster: the connection of a kubeconfig, and a snapshot in one file."""
