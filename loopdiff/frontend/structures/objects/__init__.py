"""Objects that programs make of their classes, and that methods and functions change; and how these are called."""
