"""What users say about derivatives: rules of functions, and marks in programs."""
