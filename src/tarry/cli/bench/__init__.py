"""What `tarry bench` measures with: the job, the sink that takes it, and the floor below it."""
