"""What other frameworks call: each module needs the framework that it is called after."""
