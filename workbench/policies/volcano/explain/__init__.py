"""Explanations of Volcano's decisions: scores of nodes and HyperNodes, and why a job stays pending."""
