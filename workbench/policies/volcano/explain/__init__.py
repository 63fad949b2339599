"""What a decision of Volcano considered, in words: nodes, HyperNodes and near misses."""
