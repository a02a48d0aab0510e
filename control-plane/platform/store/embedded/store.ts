/** Opens the store's file. */
import { Catalogue } from './catalogue.ts';
import type { Store } from './documents.ts';
import { Sqlite } from './sqlite.ts';

/** Opens the file for writing; creates the tables in a new file. */
export function openStore(file: string): Store {
  const sqlite = new Sqlite(file, 'write');
  const catalogue = new Catalogue(sqlite);
  catalogue.prepare();
  catalogue.reload();
  return { sqlite, catalogue };
}

/** Opens the file read-only; it must already be open for writing. */
export function openReadOnlyStore(file: string): Store {
  const sqlite = new Sqlite(file, 'read');
  return { sqlite, catalogue: new Catalogue(sqlite) };
}
