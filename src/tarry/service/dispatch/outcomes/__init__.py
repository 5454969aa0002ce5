"""What an answer means: for the delivery, for its endpoint and for the origin."""
