// A server that speaks S3, in a process of its own: `node --openssl-legacy-provider server.mjs FOLDER BUCKET`. Says its
// address on stdout, and ends when stdin does, which is when whoever started it is gone.
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
const { address, port } = await server.run();
console.log(`http://${address}:${port}`);
process.stdin.resume().on('end', () => process.exit(0));
