"""What `wikimcp install` writes for each client, and the hooks that clients run to be briefed."""
