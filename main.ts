/**
 * The composition root: reads the environment once, wires the parts of the role it was started as, and obeys signals.
 * Roles: `all` (supervisor of the others; `npm start`), `control-plane`, `signalling`, `worker`.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { readSettings, type Settings, SettingsError } from '#config/env.ts';

const ROLES = ['all', 'control-plane', 'signalling', 'worker'] as const;

function settingsOrExit(): Settings {
  try {
    return readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems) console.error(problem);
    process.exit(2);
  }
}

/** Compiling the program is a third of a start: what was compiled is kept for the next one, here and in every process and thread below. */
function keepCompiledCode(): void {
  // Beside the program, where nobody writes who could not change the program itself; a place that cannot be written is no error.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/parley', import.meta.url));
  enableCompileCache(process.env['NODE_COMPILE_CACHE']);
}

async function run(): Promise<void> {
  const role = ROLES.find((name) => name === (process.argv[2] ?? 'all'));
  if (role === undefined) {
    console.error(`usage: node main.ts [${ROLES.join(' | ')}]`);
    process.exit(2);
  }
  const settings = settingsOrExit();
  keepCompiledCode();
  if (role === 'all') await (await import('./start-all.ts')).startAll(settings);
  else if (role === 'control-plane') await (await import('./start-control-plane.ts')).startControlPlanePart(settings);
  else if (role === 'signalling') await (await import('./start-signalling.ts')).startSignallingPart(settings);
  else await (await import('./start-worker.ts')).startWorkerPart(settings);
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
