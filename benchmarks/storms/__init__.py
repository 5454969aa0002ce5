"""What `./dev bench storm` puts the simulator through."""
