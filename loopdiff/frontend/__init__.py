"""From source text to a typed LoopSet: `parse` reads, `binding` gives types; `language` says what is accepted."""
