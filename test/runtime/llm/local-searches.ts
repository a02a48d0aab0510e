/** Searches for local language models, with what a test opens for them; all is closed after each test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { LocalModels } from '#config/local-models.ts';
import { searchLocalModels } from '#runtime/llm/local/search-models.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

interface Closable {
  close(): Promise<void>;
}

/** Parts of the tests of one file. */
export interface LocalSearches {
  /** The file in which a search keeps what it found; new for each test. */
  file(): string;
  /** Closes what is being opened after the test. */
  keep<Opened extends Closable>(opening: Promise<Opened>): Promise<Opened>;
  search(addresses: readonly string[], clock?: ManualClock): Promise<LocalModels>;
}

/** Registers the hooks of the file. */
export function openLocalSearches(): LocalSearches {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const opened: Closable[] = [];
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-local-models-'));
  });
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = () => join(folder, 'local-models.json');
  async function keep<Opened extends Closable>(opening: Promise<Opened>): Promise<Opened> {
    const one = await opening;
    opened.push(one);
    return one;
  }
  return {
    file,
    keep,
    search: (addresses, clock = new ManualClock()) =>
      keep(searchLocalModels({ addresses, file: file(), clock, logger })),
  };
}
