"""What stands for ``python`` in a ``tests/warm_shell.py``: asks ``tests/warm_server.py``.

Started without site packages, so that it costs nothing:
``python -SE warm_client.py SOCKET EXECUTABLE WORD ...``, where EXECUTABLE becomes the command's
``sys.executable``.
"""

import json
import os
import socket
import sys

path, executable, *arguments = sys.argv[1:]
request = {"arguments": arguments, "executable": executable, "cwd": os.getcwd()}
request["environment"] = dict(os.environ)
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    message = json.dumps(request).encode()
    socket.send_fds(server, [len(message).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(message)
    server.recv(8)  # the command's process
    code = int.from_bytes(server.recv(8) or b"\1", "big", signed=True)  # when it has ended
sys.exit(code if code >= 0 else 128 - code)
