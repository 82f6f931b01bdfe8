"""Virtual bones: weights of many bones compressed into two layers, on a rig that stands."""
