"""A study rehearsed at full size: scripted models that answer by published figures, in a place of their own."""
