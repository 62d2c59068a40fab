import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Failed } from '../processes.mjs';
import { requireFrom } from '../repository.mjs';

/**
 * Where models come from: `await find(object)` gives `load`, what make-set.py needs to open it (`loader`, `file`, `parts`), and
 * `title`, `author`, `licence` and `page`, for the notice.
 *
 * @param source the set's description of it: `package` and `version`, or `repository` and `commit`
 * @param downloads the folder with the packages and clones
 */
export function openSource(name, source, downloads, work) {
  if (!kinds[source.kind]) throw new Failed(`objects.json: ${name} is of the unknown kind ${source.kind}`);
  const files = source.package ? unpack(name, source, downloads, work) : cloned(name, source, downloads);
  return kinds[source.kind](files, source, { downloads, work });
}

const kinds = { 'sweet-home': sweetHome, morse, market };

/** Furniture libraries of Sweet Home 3D: zip files of OBJ models with a catalogue. A model is `LIBRARY/ID`. */
function sweetHome(files, source, { work }) {
  const libraries = new Map();
  const open = (library) => {
    if (!libraries.has(library)) {
      const folder = join(work, library);
      run('unzip', ['-qo', join(files, `usr/share/sweethome3d/furniture/${library}.sh3f`), '-d', folder]);
      libraries.set(library, { folder, catalogue: readCatalogue(join(folder, 'PluginFurnitureCatalog.properties')) });
    }
    return libraries.get(library);
  };
  return {
    find({ model }) {
      const [library, id] = model.split('/');
      const { folder, catalogue } = open(library);
      const entry = catalogue.find((candidate) => candidate.id.endsWith(`#${id}`));
      if (!entry) throw new Failed(`Sweet Home 3D's library ${library} has no ${id}`);
      const file = join(folder, entry.model);
      return {
        load: { loader: 'obj', file },
        author: entry.creator,
        licence: source.licences[library],
        ...blendSwapTitle(join(file, '..'), entry.name),
      };
    },
  };
}

/** Lines `key#number=value`; Java writes such files in Latin-1. */
function readCatalogue(path) {
  const entries = new Map();
  for (const [, key, number, value] of readFileSync(path, 'latin1').matchAll(/^(\w+)#(\d+)=(.*)$/gm)) {
    entries.set(number, { ...entries.get(number), [key]: value.trim() });
  }
  return [...entries.values()];
}

/** Models from Blend Swap carry the title their author gave them, and where it was published. */
function blendSwapTitle(folder, name) {
  const file = readdirSync(folder).find((candidate) => /licen[sc]e/i.test(candidate));
  if (!file) return { title: name };
  const text = readFileSync(join(folder, file), 'utf8');
  const [, number, published] = /^(\d+) - (.*) - License\.html$/.exec(file) ?? [];
  const title = published ?? /downloading "(.*)" by/.exec(text)?.[1] ?? name;
  const id = number ?? /blendswap\.com\/blends\/view\/(\d+)/.exec(text)?.[1];
  return { title, page: id && `https://www.blendswap.com/blends/view/${id}` };
}

/** Blender files of the MORSE robot simulator. A model is the file's path below `data/`, `parts` the objects in it. */
function morse(files, source) {
  return {
    find({ model, parts, title }) {
      const file = join(files, 'usr/share/morse/data', model);
      return { load: { loader: 'blend', file, parts }, title, author: source.author, licence: source.licence };
    },
  };
}

/**
 * The assets of market.pmnd.rs: a folder for each model, with `info.json` and `model.gltf`. A model is the folder's name. The meshes are compressed with
 * Draco, which Debian's Blender cannot read: `npm install draco3d` in the folder of downloads.
 */
function market(files, source, { downloads, work }) {
  return {
    async find({ id, model }) {
      const folder = join(files, 'files/models', model);
      const info = JSON.parse(readFileSync(join(folder, 'info.json'), 'utf8'));
      // 1 is how the collection writes CC0; the few models under other terms are of no use here.
      if (info.license !== 1) throw new Failed(`${model} is not under CC0`);
      const creators = [info.creator].flat().map((who) => (typeof who === 'string' ? creatorOf(files, who) : who));
      const file = join(work, `${id}.glb`);
      await withoutDraco(join(folder, 'model.gltf'), file, downloads);
      return {
        load: { loader: 'gltf', file },
        title: info.name,
        author: creators.map(({ name }) => name).join(', '),
        page: creators[0].link,
        licence: source.licence,
      };
    },
  };
}

async function withoutDraco(from, to, downloads) {
  const fromEngine = requireFrom('engine');
  const { NodeIO } = fromEngine('@gltf-transform/core');
  const { ALL_EXTENSIONS, KHRDracoMeshCompression } = fromEngine('@gltf-transform/extensions');
  const decoder = await createRequire(join(downloads, 'package.json'))('draco3d').createDecoderModule();
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ 'draco3d.decoder': decoder });
  const document = await io.read(from);
  document.createExtension(KHRDracoMeshCompression).dispose();
  await io.write(to, document);
}

const creatorOf = (files, id) => JSON.parse(readFileSync(join(files, 'files/creators', id, 'info.json'), 'utf8'));

function unpack(name, source, downloads, work) {
  const file = `${source.package}_${source.version.replaceAll(':', '%3a')}_all.deb`;
  const path = join(downloads, file);
  if (!existsSync(path)) {
    throw new Failed(`${path} is missing: apt-get download ${source.package}=${source.version} in ${downloads}`);
  }
  const folder = join(work, name);
  mkdirSync(folder);
  run('dpkg-deb', ['-x', path, folder]);
  return folder;
}

function cloned(name, source, downloads) {
  const folder = join(downloads, name);
  if (!existsSync(folder)) {
    throw new Failed(`${folder} is missing: clone ${source.repository} there and check out ${source.commit}`);
  }
  return folder;
}

function run(command, args) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Failed(`${command} failed: ${error?.message ?? stderr}`);
}
