/**
 * A web caller's media in blocks of 10 ms, on any transport: sent at a steady rate, received as they arrive.
 * Times are those of this process, ms since 1970.
 */

import { addVoice } from '#protocol/audible-timeline.ts';
import type { LineSound } from './line-sound.ts';
import { pace } from './pace.ts';
import { VOICED_PEAK } from './rtp.ts';
import { CALLER_RATE_HZ } from './scene.ts';
import { type CallerStream, SPEECH_GAP_MS } from './take-turns.ts';

const BLOCK_MS = 10;
/** Samples of one block at the caller's rate. */
export const BLOCK_SAMPLES = (CALLER_RATE_HZ * BLOCK_MS) / 1_000;

/** When a line was said. */
export interface Said {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The media of one caller. */
export class BlockStream implements CallerStream<Said> {
  /** Times of the blocks in which the agent was audible. */
  readonly voicedMs: number[] = [];
  /** Lateness of each sent block, ms: the measurement error of a call's times. */
  readonly latenessMs: number[] = [];
  readonly stretches: { firstMs: number; lastMs: number }[] = [];
  readonly #line: LineSound;
  readonly #send: (block: Int16Array) => void;
  #stopPacing: (() => void) | null = null;
  #startMs = 0;
  #saying: {
    readonly samples: Int16Array;
    position: number;
    firstMs: number;
    readonly done: (said: Said) => void;
  } | null = null;
  readonly #looks = new Set<() => void>();
  #voicedSinceMs: number | null = null;

  constructor(line: LineSound, send: (block: Int16Array) => void) {
    this.#line = line;
    this.#send = send;
  }

  /** Begins to send. */
  start(): void {
    this.#startMs = nowMs();
    this.#stopPacing = pace(BLOCK_MS, () => this.#sendBlock());
  }

  stop(): void {
    this.#stopPacing?.();
  }

  get lastVoicedMs(): number | null {
    return this.voicedMs.at(-1) ?? null;
  }

  say(samples: Int16Array): Promise<Said> {
    return new Promise((done) => {
      this.#saying = { samples, position: 0, firstMs: 0, done };
    });
  }

  press(): Promise<void> {
    throw new Error('a web caller has no keypad');
  }

  until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadlineMs = nowMs() + timeoutMs;
    return new Promise((resolve) => {
      const look = () => {
        const isMet = condition();
        if (!isMet && nowMs() < deadlineMs) return;
        this.#looks.delete(look);
        resolve(isMet);
      };
      this.#looks.add(look);
    });
  }

  agentSpokeForMs(gapMs: number): number {
    const now = nowMs();
    if (this.#voicedSinceMs === null || this.agentQuietForMs() > gapMs) return 0;
    return now - this.#voicedSinceMs;
  }

  agentQuietForMs(): number {
    return this.lastVoicedMs === null ? 0 : nowMs() - this.lastVoicedMs;
  }

  /** Takes a block of the agent's audio, at the caller's rate. */
  hear(block: Int16Array): void {
    this.#line.hear(block);
    if (!block.some((sample) => Math.abs(sample) >= VOICED_PEAK)) return;
    const now = nowMs();
    if (this.#voicedSinceMs === null || this.agentQuietForMs() > SPEECH_GAP_MS) this.#voicedSinceMs = now;
    this.voicedMs.push(now);
    addVoice(this.stretches, now);
  }

  #sendBlock(): void {
    const block = new Int16Array(BLOCK_SAMPLES);
    const saying = this.#saying;
    if (saying) {
      if (saying.position === 0) saying.firstMs = nowMs();
      block.set(saying.samples.subarray(saying.position, saying.position + BLOCK_SAMPLES));
      saying.position += BLOCK_SAMPLES;
    }
    this.#line.addTo(block);
    this.#send(block);
    this.latenessMs.push(nowMs() - this.#startMs - BLOCK_MS * this.latenessMs.length);
    if (saying && saying.position >= saying.samples.length) {
      this.#saying = null;
      saying.done({ firstMs: saying.firstMs, lastMs: nowMs() });
    }
    for (const look of [...this.#looks]) look();
  }
}

/** Wall-clock time without jumps, ms since 1970. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
