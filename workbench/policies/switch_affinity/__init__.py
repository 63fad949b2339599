"""Switch affinity scheduling of Ascend clusters, one file per concept."""
