"""What a compilation is asked for, and what it finds around it: settings, requests, versions, signals."""
