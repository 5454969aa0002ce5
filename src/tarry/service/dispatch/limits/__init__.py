"""What a request has to wait for: the gate and its pace, rates, slots and the retry budget."""
