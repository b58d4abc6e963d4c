"""What the model can call."""

from .implementations.grep_search import GrepSearchTool
from .implementations.list_directory import ListDirectoryTool
from .implementations.read_file import ReadFileTool
from .registry import ToolRegistry

__all__ = ["GrepSearchTool", "ListDirectoryTool", "ReadFileTool", "ToolRegistry"]
