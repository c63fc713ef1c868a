"""Lists whose length only the arguments say: arrays with room for all elements, of which so many are there."""
