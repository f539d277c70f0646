"""What stands for ``python`` or ``fairseq-train`` in a page's shell: asks the warm process.

Started without site packages, so that it costs nothing: ``python -SE client.py SOCKET NAME ...``.
"""

import json
import os
import socket
import sys

path, name, *arguments = sys.argv[1:]
request = {"name": name, "arguments": arguments, "folder": os.getcwd(), "set": dict(os.environ)}
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    message = json.dumps(request).encode()
    socket.send_fds(server, [len(message).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(message)
    status = server.recv(1)  # when the command has ended
sys.exit(status[0] if status else 1)
