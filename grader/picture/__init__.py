"""Pictures of wrong answers: heat maps, and the forward pass with what is wrong marked."""
