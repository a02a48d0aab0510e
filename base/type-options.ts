/**
 * Node options for child processes that do not inherit our environment. Node does not remove the types of
 * files in `node_modules`: there the installed package does so itself (strip-types.mjs).
 */
import { sep } from 'node:path';

const isInstalled = import.meta.dirname.includes(`${sep}node_modules${sep}`);

/** To be put before a program of this package; empty outside `node_modules`. */
export const typeOptions: readonly string[] = isInstalled
  ? ['--disable-warning=ExperimentalWarning', '--import', new URL('../strip-types.mjs', import.meta.url).href]
  : [];
