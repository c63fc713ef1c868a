"""What loopdiff keeps on disk for later processes: where, for how long, and whom it believes.

Files are entries of one folder. Each is authenticated by a key that only the user can read, so that nothing is
executed or believed that somebody else, or a broken disk, has put there; and each can be made again, so that the worst
that a lost one does is to cost time. See docs/security.md.
"""
