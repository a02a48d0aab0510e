/**
 * The reader: runs long reads and holds every cursor, on a connection of its own that sees what has been
 * committed.
 */
import type { Clock } from '#base/clock.ts';
import { commandName } from './command-fields.ts';
import { Cursors } from './cursors.ts';
import type { Store } from './documents.ts';
import { CURSOR_COMMANDS, READ_COMMANDS } from './read-commands.ts';
import type { Reply } from './read-context.ts';
import { errorReply, StoreError } from './store-error.ts';
import { frameReply, parseMessage, type Request } from './wire.ts';

/** Answers messages that the writer has handed over. */
export class Reader {
  readonly #store: Store;
  readonly #cursors: Cursors;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#cursors = new Cursors(clock);
  }

  /** The framed reply to a message. Each runs on one snapshot; a cursor's next batch on a newer one. */
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
