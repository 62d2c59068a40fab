// Run `node server.mjs model.glb` and open the printed URL.
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const [model] = process.argv.slice(2);
if (!model) {
  console.error('Usage: node server.mjs MODEL.glb');
  process.exit(2);
}
if (!(await stat(model).catch(() => undefined))?.isFile()) {
  console.error(`${model} is not a file. Create a model with \`gen3d create photo.jpg --wait\``);
  process.exit(1);
}
const here = dirname(fileURLToPath(import.meta.url));
const three = dirname(dirname(fileURLToPath(import.meta.resolve('three'))));

const server = createServer(async ({ url = '/' }, response) => {
  const { pathname } = new URL(url, 'http://localhost');
  const [file, type] = pathname.startsWith('/three/')
    ? [join(three, normalize(pathname.slice('/three'.length))), 'text/javascript']
    : ({
        '/': [join(here, 'index.html'), 'text/html; charset=utf-8'],
        '/viewer.js': [join(here, 'viewer.js'), 'text/javascript'],
        '/model.glb': [model, 'model/gltf-binary'],
      }[pathname] ?? []);
  const content = file && (await readFile(file).catch(() => undefined));
  if (content) response.writeHead(200, { 'content-type': type }).end(content);
  else response.writeHead(404).end();
});

server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
