"""Integrations with other frameworks. Each module requires the framework that it is named after."""
