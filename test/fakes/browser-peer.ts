/** Browsers for tests: one process with any number of web callers, each with a real peer connection. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#base/clock.ts';
import type { PeerNews, PeerOrder } from './browser-process.ts';

const DEADLINE_MS = 5000;

/** A running browser process. */
export class Browsers {
  readonly #process: ChildProcess;
  readonly #peers = new Map<number, BrowserPeer>();
  #next = 1;

  constructor() {
    const script = fileURLToPath(new URL('./browser-process.ts', import.meta.url));
    this.#process = fork(script, [], { execArgv: [], serialization: 'advanced' });
    this.#process.on('message', ({ id, news }: { id: number; news: PeerNews }) =>
      this.#peers.get(id)?.learn(news),
    );
  }

  /** Adds a web caller. */
  open(): BrowserPeer {
    const id = this.#next++;
    const peer = new BrowserPeer((order) => this.#process.send({ id, order }));
    this.#peers.set(id, peer);
    return peer;
  }

  async close(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.disconnect();
    await exited;
  }
}

/** One web caller. */
export class BrowserPeer {
  /** Agent audio, 48 kHz, with the arrival time of each block. */
  readonly heard: { readonly atMs: number; readonly samples: Int16Array }[] = [];
  readonly messages: string[] = [];
  readonly #news: PeerNews[] = [];
  readonly #order: (order: PeerOrder) => void;

  constructor(order: (order: PeerOrder) => void) {
    this.#order = order;
  }

  /** Creates the offer with all candidates gathered. */
  async offer(): Promise<string> {
    this.#order({ do: 'offer' });
    const offer = await this.#until((news) => news.type === 'offer');
    return offer.type === 'offer' ? offer.sdp : '';
  }

  /** Applies the answer and waits until media and messages can flow. */
  async connect(answerSdp: string): Promise<void> {
    this.#order({ do: 'accept', answerSdp });
    await this.#until((news) => news.type === 'state' && news.state === 'connected');
    await this.#until((news) => news.type === 'channelOpen');
  }

  /** Plays 48 kHz audio, then silence; resolves with its start time. */
  async speak(samples: Int16Array): Promise<number> {
    this.#order({ do: 'speak', samples });
    const speaking = await this.#until((news) => news.type === 'speaking');
    return speaking.type === 'speaking' ? speaking.atMs : 0;
  }

  /** Sends one message on the data channel. */
  send(text: string): void {
    this.#order({ do: 'send', text });
  }

  /** Closes the tab. */
  close(): void {
    this.#order({ do: 'close' });
  }

  learn(news: PeerNews): void {
    if (news.type === 'heard') this.heard.push(news);
    else if (news.type === 'message') this.messages.push(news.text);
    else this.#news.push(news);
  }

  async #until(matches: (news: PeerNews) => boolean): Promise<PeerNews> {
    for (let waitedMs = 0; waitedMs < DEADLINE_MS; waitedMs += 5) {
      const found = this.#news.find(matches);
      if (found) return found;
      await systemClock.sleep(5);
    }
    throw new Error(
      `not reported in time; the browser reported ${JSON.stringify(this.#news.map((news) => news.type))}`,
    );
  }
}
