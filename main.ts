/**
 * Entry point: reads the environment once and starts the process of the given role (processes/). Roles: `all`
 * (supervises the others; `npm start`), `control-plane`, `signalling`, `worker`.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Settings } from '#config/env.ts';

const ROLES = ['all', 'control-plane', 'signalling', 'worker'] as const;

async function settingsOrExit(): Promise<Settings> {
  const { readSettings, SettingsError } = await import('#config/env.ts');
  const { readSecretFiles } = await import('#config/secret-files.ts');
  try {
    const environment = readSecretFiles(process.env);
    // Child processes inherit the values. The files may be readable only at the start.
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
    return readSettings(environment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems) console.error(problem);
    process.exit(2);
  }
}

/**
 * Compilation takes a third of the start: compiled code is cached for the next start, here and in every child
 * process and thread. Every other file of the program is imported after this.
 */
function keepCompiledCode(): void {
  // Beside the program, where only those who can change the program can write. A directory that is not
  // writable is no error.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/parley', import.meta.url));
  enableCompileCache(process.env['NODE_COMPILE_CACHE']);
}

async function run(): Promise<void> {
  const role = ROLES.find((name) => name === (process.argv[2] ?? 'all'));
  if (role === undefined) {
    console.error(`usage: node main.ts [${ROLES.join(' | ')}]`);
    process.exit(2);
  }
  keepCompiledCode();
  const settings = await settingsOrExit();
  if (role === 'all') await (await import('#processes/all.ts')).startAll(settings);
  else if (role === 'control-plane')
    await (await import('#processes/control-plane.ts')).runControlPlaneProcess(settings);
  else if (role === 'signalling')
    await (await import('#processes/signalling.ts')).runSignallingProcess(settings);
  else await (await import('#processes/worker.ts')).runWorkerProcess(settings);
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
