/** A worker's connections to the signalling servers: their questions are answered by the product's code. */
import type Srf from 'drachtio-srf';
import type { Clock } from '#base/clock.ts';
import type { WorkerWatch } from '#telephony/drachtio/worker-probe.ts';
import { ProbeAnswers } from '#telephony/drachtio/worker-probe.ts';
import { formatMessage, header, parseMessage } from '#telephony/embedded/message.ts';
import { type AppSocket, type FromWorker, SIP_SECRET, type ToWorker } from './signalling-process.ts';

const RECONNECT_MS = 1_000;
/** A server from which nothing arrives for this long is lost, whatever TCP says. */
const SILENCE_MS = 4_000;

/** What the connections need of their worker. */
export interface SignallingLinksParts {
  readonly clock: Clock;
  readonly tag: string;
  readonly watch: WorkerWatch;
  /** Names of the servers. */
  readonly servers: readonly string[];
  open(server: string): AppSocket;
}

/** The connections of one worker. */
export class SignallingLinks {
  readonly #parts: SignallingLinksParts;
  readonly #connected = new Set<string>();
  #isClosed = false;

  constructor(parts: SignallingLinksParts) {
    this.#parts = parts;
    for (const server of parts.servers) this.#connect(server, new ProbeAnswers(parts.watch, SIP_SECRET));
  }

  get isConnected(): boolean {
    return this.#connected.size > 0;
  }

  /** Names of the servers that it is connected to. */
  get servers(): readonly string[] {
    return [...this.#connected];
  }

  close(): void {
    this.#isClosed = true;
  }

  #connect(server: string, answers: ProbeAnswers): void {
    if (this.#isClosed) return;
    const { clock, tag } = this.#parts;
    const socket = this.#parts.open(server);
    let heardMs = clock.now();
    const watch = clock.every(RECONNECT_MS, () => {
      if (this.#isClosed || clock.now() - heardMs > SILENCE_MS) socket.terminate();
    });
    const send = (message: FromWorker) => socket.send(JSON.stringify(message));
    socket.on('open', () => {
      this.#connected.add(server);
      send({ tag });
    });
    socket.on('message', (text) => {
      heardMs = clock.now();
      const { transactionId, request } = JSON.parse(text ?? '') as ToWorker;
      send({ transactionId, response: answerTo(request, answers) });
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      watch.cancel();
      this.#connected.delete(server);
      clock.after(RECONNECT_MS, () => this.#connect(server, answers));
    });
  }
}

/** The 200 to an OPTIONS, as drachtio-srf would send it. */
function answerTo(text: string, answers: ProbeAnswers): string {
  const message = parseMessage(text);
  if (!message) throw new Error('signalling has sent no SIP message');
  const request = { get: (name: string) => header(message, name.toLowerCase()) ?? undefined };
  const headers = Object.entries(answers.headersFor(request as unknown as Srf.SrfRequest));
  return formatMessage({
    start: { kind: 'response', status: 200, reason: 'OK' },
    headers: headers.map(([name, value]) => ({ name, value })),
    body: '',
  });
}
