"""./cairn histories: records what concurrent transactions did and saw, and looks for anomalies."""
