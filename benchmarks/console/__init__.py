"""How long the console's lists take where a collection holds a million chunks."""
