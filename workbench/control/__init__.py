"""An embedded cluster: a store, the controllers, a scheduler and kubelets, in one process and in virtual time."""
