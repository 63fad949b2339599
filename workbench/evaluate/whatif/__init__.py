"""Changes to a cluster or a job, tried before anybody makes them: what would let a pending job run."""
