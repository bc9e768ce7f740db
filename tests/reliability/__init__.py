"""Proofs that nothing is lost: real engine processes, killed, stopped, loaded and starved."""
