"""From a discovery source's findings to HyperNodes, and to what must be created, updated and deleted; no sockets."""
