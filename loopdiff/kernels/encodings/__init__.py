"""Features of places, from grids that are learnt: hashed in many resolutions, dense, or in planes.

Places lie between 0 and 1 along each axis; outside, they have the features of the edge, and no derivative. All features
have derivatives by the tables and by the places, of any order.
"""

from loopdiff.kernels.encodings.grids import dense_grid2d, dense_grid3d, triplane
from loopdiff.kernels.encodings.hashing import hash_grid2d, hash_grid3d, hash_grid4d
from loopdiff.kernels.encodings.lattice import permutohedral_grid

__all__ = [
    "hash_grid2d",
    "hash_grid3d",
    "hash_grid4d",
    "dense_grid2d",
    "dense_grid3d",
    "triplane",
    "permutohedral_grid",
]
