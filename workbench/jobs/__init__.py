"""Convert Kubernetes objects (Jobs, PodGroups, Deployments, Pods) to gangs of pending pods and to running pods."""
