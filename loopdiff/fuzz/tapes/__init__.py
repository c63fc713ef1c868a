"""Random programs about what is kept between the sweeps: states that are overwritten, rotated and gathered from in
loops over time, under every tape policy and random memory limits."""
