/** Inserts a seeded defect into the modules that this thread imports from now on. */
import { registerHooks } from 'node:module';
import { type Defect, placeOf } from './defects.ts';

/**
 * Patches the module whose address ends with `file`. Throws when it is imported and the defect's place does
 * not occur exactly once.
 */
export function seedDefect(defect: Defect, file: string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(file) || typeof loaded.source === 'undefined') return loaded;
      const source = String(
        typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array),
      );
      const parts = source.split(placeOf(defect));
      if (parts.length !== 2)
        throw new Error(`${defect.name}: its place stands ${parts.length - 1} times in ${defect.file}`);
      return { ...loaded, source: parts.join(defect.replace) };
    },
  });
}
