// Preloaded into a server, this file takes the place of its decoders. It does what an image could do that has taken a
// decoder over: the image ends with the path of a file and a port, and the job's error says what could be reached.
const { readdirSync, readFileSync, appendFileSync } = require('node:fs');
const Module = require('node:module');
const { connect } = require('node:net');

const attempt = (action) => {
  try {
    return action();
  } catch ({ code }) {
    return code;
  }
};

const readEnvironments = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some(
      (pid) => attempt(() => readFileSync(`/proc/${pid}/environ`, 'latin1').includes('secret-of-the-server')) === true,
    )
    ? 'read'
    : 'none has the secret';

const connectTo = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve('connected'));
    socket.on('error', ({ code }) => resolve(code));
  });

if (require.main === module) {
  let received = Buffer.alloc(0);
  process.stdin.on('data', async (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 4 || received.length < 4 + received.readUInt32BE(0)) return;
    const { file, port } = JSON.parse(/\{"file".*$/s.exec(received.toString('latin1'))[0]);
    received = Buffer.alloc(0);
    const results = {
      key: attempt(() => readFileSync(file) && 'read'),
      network: await connectTo(port),
      environment: attempt(readEnvironments),
      code: attempt(() => appendFileSync(__filename, '') ?? 'written'),
    };
    // A refusal, as decoder-protocol.ts describes it.
    const text = Buffer.from(JSON.stringify({ code: 'image_invalid', message: JSON.stringify(results) }));
    const header = Buffer.alloc(9);
    header.writeUInt8(2, 0);
    header.writeUInt32BE(text.length, 1);
    process.stdout.write(Buffer.concat([header, text]));
  });
} else {
  const { _resolveFilename } = Module;
  Module._resolveFilename = (request, ...rest) =>
    request === '@gen3d/server/decoder' ? __filename : _resolveFilename(request, ...rest);
}
