"""Where ways through a program meet: branches, loops, jumps, returns, and what names stand for after them."""
