// An S3 server in a separate process: `node --openssl-legacy-provider server.mjs FOLDER BUCKET`. It prints its URL, and
// exits when stdin ends, because its parent has exited.
import { rm } from 'node:fs/promises';
import S3rver from '@20minutes/s3rver';

const [directory, bucket] = process.argv.slice(2);
const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  directory,
  silent: true,
  vhostBuckets: false,
  // The server computes the signature of listings without the trailing slash that the AWS SDK sends. It still checks key ids.
  allowMismatchedSignatures: true,
  configureBuckets: [{ name: bucket }],
});
// The server's own method also removes the empty folder, and with it files that another request writes meanwhile.
server.store.deleteObject = async (bucket, key) => {
  for (const part of ['object', 'object.md5', 'metadata.json']) {
    await rm(server.store.getResourcePath(bucket, key, part), { force: true });
  }
};
const { address, port } = await server.run();
console.log(`http://${address}:${port}`);
process.stdin.resume().on('end', () => process.exit(0));
