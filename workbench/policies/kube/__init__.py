"""kube-scheduler 1.37: filters and scores of its default profile for one pod, and the policies made of them."""
