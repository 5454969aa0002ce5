"""HTTP to endpoints: signs requests, checks addresses, and reads answers within limits."""
