"""What goes over the wire: requests are signed, addresses checked, answers read within limits."""
