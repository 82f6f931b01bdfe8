"""How near two things must be to count as the same, where more than one room asks.

Blender keeps points, weights, bones and keys in single precision, which is 6e-8 of a value; what goes through
a matrix, a sum or Edit Mode and back loses a few bits more. Sizes are diagonals of the box around the mesh at
rest. A tolerance that one room alone has stands there.
"""

WEIGHT = 1e-6  # of a vertex's weight: nobody sees a vertex move by less, and rounding changes as much
WEIGHT_SUM = 1e-5  # of a sum of weights: some ten roundings of WEIGHT
LENGTH = 1e-6  # sizes, and of a rotation or scale: what a point or a key loses in single precision
REST = 1e-5  # sizes: Edit Mode makes a bone's rest anew of its head, tail and roll
TURN = 1e-3  # of a rotation's entries: the same, and a roll suffers most
SINGULAR = 1e-9  # determinant of a matrix whose largest entry is 1: it has no inverse to speak of
