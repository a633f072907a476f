"""A WebSocket echo on asyncio alone (RFC 6455): whole messages in one frame each.

It prints the port it listens on, and answers what is not a WebSocket with 426.
"""

import asyncio
import base64
import hashlib
import struct

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CLOSE, PING, PONG = 8, 9, 10


async def read_head(reader):
    """Returns the fields of a request's head, names in lower case."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = {}
    for line in head.split(b"\r\n")[1:-2]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    return fields


async def read_frame(reader):
    """Returns what a frame is and its bytes, without their mask."""
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack(">H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack(">Q", await reader.readexactly(8))
    if first & 0xF0 != 0x80 or second & 0x80 == 0:
        raise ValueError("not a whole message with a mask")
    mask = await reader.readexactly(4)
    data = await reader.readexactly(length)
    key = (mask * (length // 4 + 1))[:length]
    plain = int.from_bytes(data, "big") ^ int.from_bytes(key, "big")
    return first & 0x0F, plain.to_bytes(length, "big")


def frame(op, data):
    if len(data) < 126:
        return struct.pack(">BB", 0x80 | op, len(data)) + data
    if len(data) < 1 << 16:
        return struct.pack(">BBH", 0x80 | op, 126, len(data)) + data
    return struct.pack(">BBQ", 0x80 | op, 127, len(data)) + data


async def serve(reader, writer):
    try:
        fields = await read_head(reader)
        if fields.get(b"upgrade", b"").lower() != b"websocket":
            writer.write(b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nContent-Length: 0\r\n\r\n")
            return
        accept = base64.b64encode(hashlib.sha1(fields[b"sec-websocket-key"] + GUID).digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        op = 0
        while op != CLOSE:
            op, data = await read_frame(reader)
            writer.write(frame(PONG if op == PING else op, data))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client is gone
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
