/** A test store that records the commands that the driver sends to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from '#control-plane/platform/store/embedded/embedded-database.ts';
import { startInSharedThread } from './store-threads.ts';
import { EXPIRY_MS, openTestStore, type TestStore } from './test-store.ts';

/** Commands of the driver itself, which no request causes. */
const OF_THE_DRIVER = new Set(['hello', 'ismaster', 'ping', 'endSessions', 'buildInfo']);

/** A store and its record of commands. */
export interface WatchedStore extends TestStore {
  /** Runs `work`; resolves with the commands sent meanwhile, such as `insert sessions`. */
  commandsOf(work: () => Promise<void>): Promise<string[]>;
}

/** Opens an empty store that records its commands. */
export async function openWatchedStore(): Promise<WatchedStore> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-watched-'));
  const embedded = await startEmbeddedDatabase({
    directory,
    expiryMs: EXPIRY_MS,
    preloadMs: null,
    startThread: startInSharedThread,
    onFatal: (error) => {
      throw error;
    },
  });
  const store = await openTestStore(`${embedded.url}&monitorCommands=true`);
  let commands: string[] = [];
  store.database.connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (!OF_THE_DRIVER.has(commandName)) commands.push(`${commandName} ${String(command[commandName])}`);
  });
  return {
    ...store,
    commandsOf: async (work) => {
      commands = [];
      await work();
      return commands;
    },
    close: async () => {
      await store.close();
      await embedded.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
