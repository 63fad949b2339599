"""The life cycle of a Volcano Job as pure functions: (Job, observed state, event) → (new status, actions).

The functions read no clock and no cluster: the caller passes the observed state and carries out the actions
(docs/lifecycle.md).
"""
