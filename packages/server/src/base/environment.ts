/** A child process gets the variables that are listed here and no others, because any other may hold a secret. */
const everywhere = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'LD_LIBRARY_PATH'];

/** Node, the runtime of the networks, and the drivers of graphics cards read these. */
const forNetworks = [
  ...['NODE_OPTIONS', 'LD_PRELOAD', 'OMP_NUM_THREADS', 'ORT_DISABLE_TELEMETRY'],
  ...['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'CUDA_CACHE_PATH', 'CUDA_MODULE_LOADING'],
  ...['NVIDIA_VISIBLE_DEVICES', 'NVIDIA_DRIVER_CAPABILITIES', 'ROCR_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES'],
  ...['VK_ICD_FILENAMES', 'VK_DRIVER_FILES', 'MESA_VK_DEVICE_SELECT', 'DRI_PRIME', 'HSA_OVERRIDE_GFX_VERSION'],
  ...['XDG_RUNTIME_DIR', 'XDG_CACHE_HOME', 'XDG_DATA_DIRS', 'DISPLAY', 'WAYLAND_DISPLAY'],
  ...['USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles', 'SystemDrive', 'windir', 'ComSpec'],
];

function picked(names: readonly string[]): NodeJS.ProcessEnv {
  const entries = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The environment of processes that read untrusted files. */
export const bareEnvironment = (): NodeJS.ProcessEnv => picked(everywhere);

/** The environment of processes that run networks. */
export const runnerEnvironment = (): NodeJS.ProcessEnv => picked([...everywhere, ...forNetworks]);
