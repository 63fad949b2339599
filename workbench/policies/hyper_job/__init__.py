"""HyperJobs on top of any policy: HyperNodes for the Jobs are chosen here, nodes inside them by the policy.

Rules: docs/hyper-jobs.md.
"""
