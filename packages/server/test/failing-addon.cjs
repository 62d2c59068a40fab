// Preloaded into all processes of a command under test. Loading the native addon whose path contains FAILING_ADDON
// fails as if it had been built for another version of Node.
const { dlopen } = process;
process.dlopen = (module, file, ...rest) => {
  if (!file.includes(process.env.FAILING_ADDON)) return dlopen(module, file, ...rest);
  const message = `The module '${file}'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 1.`;
  throw Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
};
