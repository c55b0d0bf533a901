// Cargo wants a target; this package exists only for its dependency.
