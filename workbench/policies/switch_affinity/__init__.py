"""Switch affinity scheduling of Huawei's MindCluster (Ascend NPUs): a job's pods go under few leaf switches."""
