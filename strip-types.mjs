/**
 * Loaded by `parley.mjs` (`--import`) where this package is installed in `node_modules`: Node removes the
 * types from TypeScript files everywhere else.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const own = new URL('.', import.meta.url).href;
const packages = new URL('node_modules/', own).href;

registerHooks({
  load(url, context, nextLoad) {
    const isOwn = url.startsWith(own) && !url.startsWith(packages) && url.endsWith('.ts');
    if (!isOwn) return nextLoad(url, context);
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', shortCircuit: true, source };
  },
});
