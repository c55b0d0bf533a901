"""./cairn crash: kills a server under load, restarts it and checks what it had promised."""
