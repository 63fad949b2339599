"""From Kubernetes objects to gangs of pods and to the pods that run already."""
