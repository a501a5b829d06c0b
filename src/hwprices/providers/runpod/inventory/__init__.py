"""Read what machines RunPod has."""
