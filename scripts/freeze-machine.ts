/**
 * `npm run freeze:machine`: writes the turn machine of these sources to
 * `runtime/replay/machines/v<version>.mjs`, one module without imports, so that the calls of this version can
 * be replayed by later ones. `npm run freeze:machine -- --from <folder>` does it for the checkout of an
 * earlier commit; packages are those installed here.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build, minifySync, type Rolldown } from 'vite';

const ROOT = join(import.meta.dirname, '..');
const ENTRY = 'frozen-machine';
/** An identifier that no resolver takes for a file. The name itself is resolved against the root. */
const RESOLVED = `\0${ENTRY}`;

const { values } = parseArgs({ options: { from: { type: 'string', default: ROOT } } });
const file = await freezeMachine(resolve(values.from));
console.log(file);

/** Writes the machine of a checkout; returns the file. */
async function freezeMachine(folder: string): Promise<string> {
  const { code, modules } = await bundled(folder);
  const { code: small, errors } = minifySync(`${ENTRY}.mjs`, code, { module: true });
  if (errors.length > 0) throw new Error(`the machine cannot be written: ${errors[0]?.message}`);
  const url = `data:text/javascript,${encodeURIComponent(small)}`;
  const { version } = (await import(url)) as { readonly version: number };
  const path = `runtime/replay/machines/v${version}.mjs`;
  writeFileSync(join(ROOT, path), `${headOf(version, modules)}${small.trimEnd()}\n`);
  return path;
}

async function bundled(folder: string): Promise<Rolldown.OutputChunk> {
  const built = await build({
    configFile: false,
    root: folder,
    publicDir: false,
    logLevel: 'warn',
    plugins: [
      {
        name: ENTRY,
        resolveId: (id: string) => (id.endsWith(ENTRY) ? RESOLVED : null),
        load: (id: string) => (id === RESOLVED ? entryOf(folder) : null),
      },
    ],
    build: {
      write: false,
      minify: false,
      target: 'esnext',
      lib: { entry: ENTRY, formats: ['es'] },
      rolldownOptions: { treeshake: { moduleSideEffects: false } },
    },
  });
  const outputs = (Array.isArray(built) ? built : [built]) as readonly Rolldown.RolldownOutput[];
  const [chunk, ...others] = outputs.flatMap(({ output }) => output);
  if (chunk?.type !== 'chunk' || others.length > 0 || chunk.imports.length > 0)
    throw new Error('the machine does not fit into one module');
  return chunk;
}

/** The machine’s surface; runtime/replay/machines/machine-of.ts describes it. */
function entryOf(folder: string): string {
  const from = (path: string) => JSON.stringify(join(folder, path));
  return `
    export { initialState, TURN_MACHINE_VERSION as version } from ${from('runtime/turn/machine/turn-state.ts')};
    export { step } from ${from('runtime/turn/machine/turn-machine.ts')};
    export { REPLAYABLE_SETTINGS as settings } from ${from('protocol/conversation-settings.ts')};
  `;
}

/** A comment that says how the file was made, and whose code it contains. */
function headOf(version: number, modules: Rolldown.OutputChunk['modules']): string {
  const names = Object.entries(modules).flatMap(([id, { renderedLength }]) => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
    return name === undefined || renderedLength === 0 ? [] : [name];
  });
  const packages = [...new Set(names)].sort().map((name) => ` * - ${noticeOf(name)}`);
  return [
    '/**',
    ` * The turn machine of version ${version}, written by \`npm run freeze:machine\`. Not edited by hand.`,
    ...(packages.length > 0 ? [' * It contains code of these packages:', ...packages] : []),
    ' */',
    '',
  ].join('\n');
}

function noticeOf(name: string): string {
  const folder = join(ROOT, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly license: string;
  };
  const [copyright = ''] = /^ *Copyright .*$/m.exec(readFileSync(join(folder, 'LICENSE'), 'utf8')) ?? [];
  return `${name} ${version} (${license}): ${copyright.trim()}`;
}
