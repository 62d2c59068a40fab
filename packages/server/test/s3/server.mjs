// A server that speaks S3, in a process of its own: `node --openssl-legacy-provider server.mjs FOLDER BUCKET`. Says its
// address on stdout, and ends when stdin does, which is when whoever started it is gone.
import { rm } from 'node:fs/promises';
import S3rver from '@20minutes/s3rver';

const [directory, bucket] = process.argv.slice(2);
const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  directory,
  silent: true,
  vhostBuckets: false,
  // It signs listings as if their path had no slash at the end, which the AWS SDK puts there. Key ids are checked still.
  allowMismatchedSignatures: true,
  configureBuckets: [{ name: bucket }],
});
// Its own also removes the folder that this leaves empty, and with it what another request wrote there meanwhile.
server.store.deleteObject = async (bucket, key) => {
  for (const part of ['object', 'object.md5', 'metadata.json']) {
    await rm(server.store.getResourcePath(bucket, key, part), { force: true });
  }
};
const { address, port } = await server.run();
console.log(`http://${address}:${port}`);
process.stdin.resume().on('end', () => process.exit(0));
