"""How clients reach the server: HTTP, WebSocket and stdio, with the checks every request passes."""
