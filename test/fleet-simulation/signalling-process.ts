/**
 * A signalling server of the fleet: the product's watch over the workers that are connected to it. SIP itself
 * is scripted.
 */
import type { Logger } from '#base/log.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import type { App } from '#telephony/embedded/app-protocol.ts';
import { AppWatch } from '#telephony/embedded/app-watch.ts';
import { parseMessage } from '#telephony/embedded/message.ts';
import type { Network } from './network.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** Shared with the workers. */
export const SIP_SECRET = 'secret';

/** What a worker sends: first its tag, then its answers to questions. */
export type FromWorker =
  | { readonly tag: string }
  | { readonly transactionId: string; readonly response: string };
/** A question to a worker. */
export interface ToWorker {
  readonly transactionId: string;
  readonly request: string;
}

/** Place of the transaction among the tokens of a delivered message. */
const TRANSACTION = 7;

/** What a signalling server works with. */
export interface SignallingParts {
  readonly process: VirtualProcess;
  readonly network: Network;
  readonly logger: Logger;
  /** Sends a report to any control plane. */
  readonly report: (report: SignallingReport) => Promise<void>;
}

/** A running signalling server. */
export class SignallingProcess {
  readonly process: VirtualProcess;
  readonly #apps = new Set<App>();
  readonly #watch: AppWatch;
  readonly #answered = new Set<string>();

  constructor({ process, network, logger, report }: SignallingParts) {
    this.process = process;
    this.#watch = new AppWatch({ clock: process, logger, secret: SIP_SECRET, apps: this.#apps, report });
    network.listen(process, (socket) => this.#accept(socket as never));
  }

  /** Its name in the settings of workers. */
  get name(): string {
    return this.process.host;
  }

  /** Workers that are connected. */
  tags(): readonly string[] {
    return [...this.#apps].flatMap(({ tags }) => [...tags]);
  }

  /** Whether it is connected to this worker, which has answered a question: it notices its loss. */
  watches(tag: string): boolean {
    return this.#answered.has(tag) && this.tags().includes(tag);
  }

  #accept(socket: AppSocket): void {
    const tags = new Set<string>();
    const app: App = {
      tags,
      verbs: new Set(),
      deliver: (tokens, raw = '') =>
        socket.send(
          JSON.stringify({ transactionId: tokens[TRANSACTION] ?? '', request: raw } satisfies ToWorker),
        ),
      answer: () => undefined,
      close: () => socket.terminate(),
    };
    socket.on('message', (text) => {
      const message = JSON.parse(text ?? '') as FromWorker;
      if ('tag' in message) {
        tags.add(message.tag);
        this.#apps.add(app);
        return;
      }
      const response = parseMessage(message.response);
      if (response && this.#watch.takeAnswer(app, message.transactionId, response))
        for (const tag of tags) this.#answered.add(tag);
    });
    socket.on('close', () => this.#apps.delete(app));
  }
}

/** One end of a virtual connection. */
export interface AppSocket {
  send(text: string): void;
  terminate(): void;
  on(event: 'open' | 'message' | 'close' | 'error', listener: (text?: string) => void): void;
}
