// A runner that a photo has taken over. The bundle that it is to open names what it does with the photo.
const glb = Buffer.alloc(24, ' ');
for (const [index, word] of [0x46546c67, 2, 24, 4, 0x4e4f534a].entries()) glb.writeUInt32LE(word, 4 * index);
glb.write('{}', 20);
const thumbnail = Buffer.from('ffd8ffe000104a46494600010100', 'hex');
const transparentThumbnail = Buffer.from('RIFF\x20\0\0\0WEBPVP8L0000', 'latin1');
const stats = { bundle: 'ball', warnings: [], stageMs: { matte: 1 } };
const made = { glb, thumbnail, transparentThumbnail, engineMs: 1, deviceMs: 0, stats, rssBytes: 1 };

const results = {
  'a model': made,
  nothing: undefined,
  'another file': { ...made, glb: Buffer.from('<html>') },
  'half a model': { ...made, glb: glb.subarray(0, 20) },
  'a model of more than its chunks': { ...made, glb: Object.assign(Buffer.from(glb), { 12: 99 }) },
  'a text for a thumbnail': { ...made, thumbnail: 'thumbnail' },
  'an SVG for a thumbnail': { ...made, transparentThumbnail: Buffer.from('<svg/>') },
  'an unknown stage': { ...made, stats: { ...stats, stageMs: { mining: 1 } } },
  'an unknown warning': { ...made, stats: { ...stats, warnings: ['<script>'] } },
  'a long name': { ...made, stats: { ...stats, bundle: 'x'.repeat(1_000) } },
  'more time than has passed': { ...made, stats: { ...stats, stageMs: { matte: 3_600_000 } } },
  'a negative time': { ...made, stats: { ...stats, stageMs: { matte: -1 } } },
};

let act;
process.on('disconnect', () => process.exit());
process.on('message', ({ type, id, name, input }) => {
  if (type !== 'call') return;
  const respond = (result) => process.send({ type: 'response', id, result });
  const progress = (values) => process.send({ type: 'call', name: 'progress', input: { id: input.id, ...values } });
  if (name === 'ping' && act !== 'silence') respond();
  if (name === 'open') {
    act = input.bundle;
    respond(act === 'no device' ? {} : { provider: 'cpu', rejected: [] });
  }
  if (name !== 'generate') return;
  if (act === 'wrong progress') progress({ fraction: 7, deviceWaitMs: 0 });
  else if (act === 'waiting') {
    progress({ fraction: 0.5, running: 'field', deviceWaitMs: 400 });
    setTimeout(respond, 700, made);
  } else if (act in results) respond(results[act]);
});
