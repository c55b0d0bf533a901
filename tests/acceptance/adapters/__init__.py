"""./cairn acceptance adapters: a build of Cairn made where there is none for the server."""
