"""Ask RunPod."""
