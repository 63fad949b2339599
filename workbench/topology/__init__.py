"""From HyperNode objects to a `workbench.model.topology.Topology`."""
