import { useSession } from '../session.js';
import { type Snippet, Snippets } from './snippets.js';

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Programs that make the same request. `imageUrl` is null for an uploaded photo, which `photo.jpg` then stands for. */
function snippetsFor(imageUrl: string | null): Snippet[] {
  const server = location.origin;
  const photo = imageUrl ?? 'photo.jpg';
  const headers = `-H "Authorization: Bearer $GEN3D_API_KEY" -H 'Content-Type: application/json'`;
  const curl =
    imageUrl === null
      ? `# jq inserts the photo into the request
base64 < photo.jpg | tr -d '\\n' | jq -Rs '{type: "image-to-3d", input: {image_urls: ["data:image/jpeg;base64," + .]}}' |
  curl ${server}/v1/jobs ${headers} -d @-`
      : `curl ${server}/v1/jobs ${headers} \\
  -d ${shellQuoted(JSON.stringify({ type: 'image-to-3d', input: { image_urls: [imageUrl] } }))}`;
  return [
    { name: 'curl', code: curl },
    {
      name: 'SDK',
      code: `import { writeFile } from 'node:fs/promises';
import { Gen3d } from '@gen3d/sdk';

const gen3d = new Gen3d({ apiKey: process.env.GEN3D_API_KEY, baseUrl: '${server}' });
const task = await gen3d.generate(${JSON.stringify(photo)});
await writeFile('model.glb', await gen3d.download(task));`,
    },
    {
      name: 'CLI',
      code: `export GEN3D_BASE_URL=${server}   # and GEN3D_API_KEY
gen3d create ${shellQuoted(photo)} --wait -o model.glb`,
    },
  ];
}

/** Programs that send the same photo. `imageUrl` is null for an uploaded photo. */
export function RequestSnippets({ imageUrl }: { imageUrl: string | null }) {
  const { role, charges } = useSession();
  return (
    <>
      <p class="hint">
        Use a key from <a href="/dashboard/keys">API keys</a>
        {role === 'operator' && charges && ' of the account to be charged'}.
      </p>
      <Snippets snippets={snippetsFor(imageUrl)} label="Language" />
    </>
  );
}
