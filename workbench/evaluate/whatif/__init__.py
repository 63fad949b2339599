"""Find changes to a cluster or a job that would let a pending job run, by trying them on copies."""
