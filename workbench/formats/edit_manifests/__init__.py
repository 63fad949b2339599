"""Change manifests by edits of a cluster and its jobs, and say which commands make the edits in a live cluster."""
