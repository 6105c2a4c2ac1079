"""The main job on one machine: sandbox, broker, connector and lake as separate processes, a workload, and the proof."""
