"""The newest releases of Volcano: a search of HyperNodes for jobs and, inside them, for their sub-jobs."""
