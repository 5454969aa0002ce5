"""Find a policy for a wish by simulating many, and explain the choice."""
