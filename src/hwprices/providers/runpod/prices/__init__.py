"""Read RunPod's prices."""
