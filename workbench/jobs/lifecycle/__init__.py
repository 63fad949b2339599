"""The life of a Volcano Job as pure functions: (Job, observed state, event) → (status, actions).

The functions use no clock and no store: the caller passes the observed state and carries out the actions
(docs/lifecycle.md).
"""
