"""The newest releases of Volcano: a two-level search of HyperNodes, for jobs and for their sub-jobs."""
