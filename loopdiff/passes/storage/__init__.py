"""Where values are kept: initialisation, copies, workspaces."""
