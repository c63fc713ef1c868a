"""Strip-mined loops with buffers for one block: of rows, or of lanes."""
