"""The life of a Volcano Job as pure functions: (Job, observed state, event) → (status, actions).

No clock, no store: whoever runs them tells what there is and does what they answer (docs/lifecycle.md).
"""
