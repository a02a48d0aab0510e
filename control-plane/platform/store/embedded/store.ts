/** Opening the store over its file. */
import { Catalogue } from './catalogue.ts';
import type { Store } from './documents.ts';
import { Sqlite } from './sqlite.ts';

/** Opens the file for writing and creates its tables when it is new. */
export function openStore(file: string): Store {
  const sqlite = new Sqlite(file, 'write');
  const catalogue = new Catalogue(sqlite);
  catalogue.prepare();
  catalogue.reload();
  return { sqlite, catalogue };
}

/** Opens a file that has been opened for writing, for reading only. */
export function openReadOnlyStore(file: string): Store {
  const sqlite = new Sqlite(file, 'read');
  return { sqlite, catalogue: new Catalogue(sqlite) };
}
