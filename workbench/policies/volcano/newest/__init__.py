"""The newest releases of Volcano: jobs and sub-jobs searched for in two levels."""
