"""An editor without special abilities, which speaks with `vptx server`."""

import json
import re
import subprocess
import tempfile


class Refused(Exception):
    """The server answered a request with an error."""


class Server:
    """A running server."""

    def __init__(self, program):
        folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [program, 'server'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self.number = 0
        self.request('initialize', {'processId': None, 'rootUri': None, 'capabilities': {}})
        self.tell('initialized', {})

    def send(self, message):
        text = json.dumps({'jsonrpc': '2.0', **message}).encode()
        self.process.stdin.write(b'Content-Length: %d\r\n\r\n' % len(text) + text)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.split(b':')[1])
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        self.number += 1
        self.send({'id': self.number, 'method': method, 'params': params})
        while (message := self.receive()).get('id') != self.number:
            pass
        if 'error' in message:
            raise Refused(message['error']['message'])
        return message['result']

    def tell(self, method, params):
        self.send({'method': method, 'params': params})

    def findings(self):
        while (message := self.receive()).get('method') != 'textDocument/publishDiagnostics':
            pass
        return message['params']['diagnostics']

    def memory(self):
        """The peak in bytes."""
        status = open(f'/proc/{self.process.pid}/status').read()
        return int(re.search(r'VmHWM:\s*(\d+)', status)[1]) * 1024

    def end(self):
        self.request('shutdown', None)
        self.tell('exit', {})
        self.process.wait()
