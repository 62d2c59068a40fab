import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Failed } from '../../../scripts/processes.mjs';

/**
 * The description of a source in a set's objects.json: a Debian package or a repository.
 *
 * @typedef {object} SourceDescription
 * @property {'sweet-home' | 'morse' | 'market'} kind
 * @property {string} [package]
 * @property {string} [version]
 * @property {string} [repository]
 * @property {string} [commit]
 * @property {string} about
 * @property {string[]} [terms]
 * @property {string} author
 * @property {string} license
 * @property {Record<string, string>} licenses by library
 */
/** @typedef {{ id: string, kind: string, source: string, model: string, title: string, parts?: string[] }} ObjectDescription */
/**
 * @typedef {object} Model
 * @property {{ loader: string, file: string, parts?: string[] | undefined }} load how make_set.py opens it
 * @property {string} title
 * @property {string} author
 * @property {string} license
 * @property {string | undefined} [page]
 */
/** @typedef {{ find: (object: ObjectDescription) => Model | Promise<Model> }} Source finds the models of a set's objects */
/** @typedef {{ downloads: string, work: string }} Folders the packages and clones; temporary files */

/**
 * @param {string} name
 * @param {SourceDescription} description
 * @param {Folders} folders
 * @returns {Source}
 */
export function openSource(name, description, folders) {
  const open = kinds[description.kind];
  if (!open) throw new Failed(`objects.json: the source ${name} has an unknown kind: ${description.kind}`);
  const files = description.package ? unpack(name, description, folders) : clonedFolder(name, description, folders);
  return open(files, description, folders);
}

/** @typedef {(files: string, source: SourceDescription, folders: Folders) => Source} OpenSource */
/** @type {Record<SourceDescription['kind'], OpenSource>} */
const kinds = { 'sweet-home': sweetHome, morse, market };

/**
 * Furniture libraries of Sweet Home 3D: zip files of OBJ models with a catalog. A model is named `LIBRARY/ID`.
 *
 * @type {OpenSource}
 */
function sweetHome(files, source, { work }) {
  /** @type {Map<string, { folder: string, catalog: Record<string, string>[] }>} */
  const libraries = new Map();
  /** @param {string} name */
  const open = (name) => {
    const known = libraries.get(name);
    if (known) return known;
    const folder = join(work, name);
    run('unzip', ['-qo', join(files, `usr/share/sweethome3d/furniture/${name}.sh3f`), '-d', folder]);
    const library = { folder, catalog: readCatalog(join(folder, 'PluginFurnitureCatalog.properties')) };
    libraries.set(name, library);
    return library;
  };
  return {
    find({ model }) {
      const [library, id] = model.split('/');
      const { folder, catalog } = open(library);
      const entry = catalog.find((candidate) => candidate.id.endsWith(`#${id}`));
      if (!entry) throw new Failed(`Sweet Home 3D's library ${library} does not contain ${id}`);
      const file = join(folder, entry.model);
      return {
        load: { loader: 'obj', file },
        author: entry.creator,
        license: source.licenses[library],
        ...blendSwapTitle(join(file, '..'), entry.name),
      };
    },
  };
}

/**
 * Reads lines `key#number=value`. Java writes such files in Latin-1.
 *
 * @param {string} path
 * @returns one record for each number
 */
function readCatalog(path) {
  /** @type {Map<string, Record<string, string>>} */
  const entries = new Map();
  for (const [, key, number, value] of readFileSync(path, 'latin1').matchAll(/^(\w+)#(\d+)=(.*)$/gm)) {
    entries.set(number, { ...entries.get(number), [key]: value.trim() });
  }
  return [...entries.values()];
}

/**
 * Models from Blend Swap contain their author's title and the page where they were published.
 *
 * @param {string} folder
 * @param {string} name in the catalog
 */
function blendSwapTitle(folder, name) {
  const file = readdirSync(folder).find((candidate) => /licen[sc]e/i.test(candidate));
  if (!file) return { title: name };
  const text = readFileSync(join(folder, file), 'utf8');
  const [, number, published] = /^(\d+) - (.*) - License\.html$/.exec(file) ?? [];
  const title = published ?? /downloading "(.*)" by/.exec(text)?.[1] ?? name;
  const id = number ?? /blendswap\.com\/blends\/view\/(\d+)/.exec(text)?.[1];
  return { title, page: id && `https://www.blendswap.com/blends/view/${id}` };
}

/**
 * Blender files of the MORSE robot simulator. A model is named by its path below `data/`; `parts` are objects in it.
 *
 * @type {OpenSource}
 */
function morse(files, source) {
  return {
    find({ model, parts, title }) {
      const file = join(files, 'usr/share/morse/data', model);
      return { load: { loader: 'blend', file, parts }, title, author: source.author, license: source.license };
    },
  };
}

/**
 * The assets of market.pmnd.rs: a folder for each model, with `info.json` and `model.gltf`. A model is named by its
 * folder. The meshes are compressed with Draco, which Debian's Blender cannot read: run `npm install draco3d` in the
 * folder of downloads.
 *
 * @type {OpenSource}
 */
function market(files, source, { downloads, work }) {
  return {
    async find({ id, model }) {
      const folder = join(files, 'files/models', model);
      const info = JSON.parse(readFileSync(join(folder, 'info.json'), 'utf8'));
      // The collection writes 1 for CC0. The few models under other terms cannot be used.
      if (info.license !== 1) throw new Failed(`${model} is not under CC0`);
      /** @type {Array<{ name: string, link?: string }>} */
      const creators = [info.creator]
        .flat()
        .map((creator) => (typeof creator === 'string' ? creatorOf(files, creator) : creator));
      const file = join(work, `${id}.glb`);
      await withoutDraco(join(folder, 'model.gltf'), file, downloads);
      return {
        load: { loader: 'gltf', file },
        title: info.name,
        author: creators.map(({ name }) => name).join(', '),
        page: creators[0].link,
        license: source.license,
      };
    },
  };
}

/**
 * Copies a glTF file without the compression of its meshes.
 *
 * @type {(from: string, to: string, downloads: string) => Promise<void>}
 */
async function withoutDraco(from, to, downloads) {
  const { NodeIO } = await import('@gltf-transform/core');
  const { ALL_EXTENSIONS, KHRDracoMeshCompression } = await import('@gltf-transform/extensions');
  const decoder = await createRequire(join(downloads, 'package.json'))('draco3d').createDecoderModule();
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ 'draco3d.decoder': decoder });
  const document = await io.read(from);
  document.createExtension(KHRDracoMeshCompression).dispose();
  await io.write(to, document);
}

/** @type {(files: string, id: string) => { name: string, link?: string }} */
const creatorOf = (files, id) => JSON.parse(readFileSync(join(files, 'files/creators', id, 'info.json'), 'utf8'));

/** @type {(name: string, source: SourceDescription, folders: Folders) => string} */
function unpack(name, source, { downloads, work }) {
  const file = `${source.package}_${source.version?.replaceAll(':', '%3a')}_all.deb`;
  const path = join(downloads, file);
  if (!existsSync(path)) {
    throw new Failed(`${path} is missing. Run apt-get download ${source.package}=${source.version} in ${downloads}`);
  }
  const folder = join(work, name);
  mkdirSync(folder);
  run('dpkg-deb', ['-x', path, folder]);
  return folder;
}

/** @type {(name: string, source: SourceDescription, folders: Folders) => string} */
function clonedFolder(name, source, { downloads }) {
  const folder = join(downloads, name);
  if (!existsSync(folder)) {
    throw new Failed(`${folder} is missing. Clone ${source.repository} there and check out ${source.commit}`);
  }
  return folder;
}

/** @type {(command: string, args: readonly string[]) => void} */
function run(command, args) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Failed(`${command} failed: ${error?.message ?? stderr}`);
}
