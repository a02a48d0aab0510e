/**
 * The reader: runs long reads and holds all cursors, on its own connection, which sees only committed data.
 */
import type { Clock } from '#base/clock.ts';
import { commandName } from './command-fields.ts';
import { Cursors } from './cursors.ts';
import type { Store } from './documents.ts';
import { CURSOR_COMMANDS, READ_COMMANDS } from './read-commands.ts';
import type { Reply } from './read-context.ts';
import { errorReply, StoreError } from './store-error.ts';
import { frameReply, parseMessage, type Request } from './wire.ts';

/** Answers messages forwarded by the writer. */
export class Reader {
  readonly #store: Store;
  readonly #cursors: Cursors;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#cursors = new Cursors(clock);
  }

  /**
   * Returns the framed reply to a message. Each message runs on one snapshot; a cursor's next batch uses a
   * newer one.
   */
  answer(message: Buffer): Buffer {
    const request = parseMessage(message);
    let reply: Reply;
    try {
      reply = this.#store.sqlite.snapshot(() => this.#run(request));
    } catch (error) {
      reply = errorReply(
        droppedTable(error)
          ? new StoreError('QueryPlanKilled', 'the collection or index was dropped')
          : error,
      );
    }
    return frameReply(request, reply);
  }

  #run({ command }: Request): Reply {
    this.#store.catalogue.refresh();
    const name = commandName(command).toLowerCase();
    const onCursor = CURSOR_COMMANDS.get(name);
    if (onCursor) return onCursor(this.#cursors, command);
    const read = READ_COMMANDS.get(name);
    if (!read) throw new StoreError('CommandNotFound', `no such reading command: '${name}'`);
    return read({ store: this.#store, cursors: this.#cursors }, command);
  }
}

function droppedTable(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('no such table');
}
