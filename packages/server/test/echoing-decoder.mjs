// Takes the place of a decoder that an image has taken over: it responds with the bytes of the image from its 100th on.
let received = Buffer.alloc(0);
process.stdin.on('data', (chunk) => {
  received = Buffer.concat([received, chunk]);
  if (received.length < 4 || received.length < 4 + received.readUInt32BE(0)) return;
  const response = received.subarray(4 + 100);
  received = Buffer.alloc(0);
  if (response.toString() === 'exit') process.exit(1);
  process.stdout.write(response);
});
