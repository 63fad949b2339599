"""What every policy of Volcano is built from: plugins, scores of nodes, gradients, the order of pods, texts."""
