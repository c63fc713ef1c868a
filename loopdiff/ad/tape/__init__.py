"""What is kept between the sweeps, and how: the tape plan, recordings, recomputation, replay and segments."""
