"""The thin shells around WikiService: MCP over stdio and HTTP. They parse, call the service and send."""
