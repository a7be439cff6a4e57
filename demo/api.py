"""hectod's API in a few lines of Python: HTTP and JSON over a UNIX socket."""

import http.client
import json
import socket


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Api:
    def __init__(self, path):
        self.path = path

    def get(self, what):
        """The answer, or None when nobody answers."""
        connection = Connection(self.path)
        try:
            connection.request("GET", what)
            return json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()
