"""What all rooms share: steps, handles, meshes as arrays, words, refusals."""
