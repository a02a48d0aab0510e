/** A forked part of a bench, which answers questions by messages. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A running part. It ends when this process does. */
export class Part {
  readonly #child: ChildProcess;
  readonly #died: Promise<never>;

  /** Starts the file in a session of its own: the kernel divides the processors among sessions first. */
  constructor(entry: URL) {
    this.#child = fork(entry, [], { execArgv: [], detached: true });
    this.#died = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`${entry.pathname} exited with code ${code}`);
    });
    this.#died.catch(() => undefined);
  }

  /** Sends a message and resolves with the next one of the part. Rejects if it dies. */
  async ask<Answer>(message: object): Promise<Answer> {
    const answer = once(this.#child, 'message');
    this.#child.send(message);
    const [value] = await Promise.race([answer, this.#died]);
    return value as Answer;
  }

  /** Ends it. */
  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
