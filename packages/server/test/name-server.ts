import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/**
 * A DNS server on loopback for the duration of the test. `addressesOf` returns the IPv4 addresses of a name. If it returns
 * undefined, there is no response. Returns the server's address as `ADDRESS:PORT`.
 */
export async function nameServer(addressesOf: (name: string) => readonly string[] | undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const question = query.subarray(12, at + 5);
    const addresses = addressesOf(labels.join('.'));
    if (!addresses) return;
    const isA = query.readUInt16BE(at + 1) === 1;
    const answers = (isA ? addresses : []).map((one) =>
      // The name of the question, type A, class IN, a lifetime of 0 s, 4 bytes.
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]),
    );
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // The flags of a response. Code 3 means that the name does not exist.
    header.writeUInt16BE(0x8180 | (addresses.length === 0 ? 3 : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, question, ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}
