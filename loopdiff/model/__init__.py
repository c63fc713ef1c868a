"""The performance model: what machines are like, how often loops run, what they move, and how long they take."""
