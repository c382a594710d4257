"""A small real server that speaks enough of OpenAI's protocol: serving.py HOST PORT [--FLAG VALUE ...].

Flags: --after N ends the process before the N-th answer, --unready 1 never says that it is ready, --child 1 starts a
process of its own that outlives it unless it is ended with its group.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main(host: str, port: str, *flags: str) -> None:
    options = dict(zip(flags[::2], flags[1::2], strict=True))
    last = int(options.get("--after", "0"))
    answered = 0
    if "--child" in options:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        sys.stdout.write(f"child {child.pid}\n")

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self.send_response(503 if "--unready" in options else 200)
            self.end_headers()

        def do_POST(self) -> None:
            nonlocal answered
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answered += 1
            if answered == last:
                sys.stdout.write("out of memory\n")
                sys.stdout.flush()
                os._exit(7)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "B"}}
            usage = {"prompt_tokens": 3, "completion_tokens": 1}
            body = json.dumps({"model": asked["model"], "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    Server((host, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
