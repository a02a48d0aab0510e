/**
 * Notes when caller and agent speak at the same time. An observer only: the machine does not depend on it.
 */
import type { SpeechOverlap } from '#protocol/session-record.ts';
import type { Effect } from '../machine/turn-effects.ts';
import type { TurnInput } from '../machine/turn-inputs.ts';

/** Shorter ones are a word of assent, or the time in which a voice is recognised as one. */
const NOTED_FROM_MS = 500;
/** Overlaps noted in one call. */
const MOST = 100;

/** An overlap, with times on the monotonic clock. */
export interface NotedOverlap {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly begunBy: SpeechOverlap['begun_by'];
}

/** The overlaps of one call. */
export class OverlapLog {
  /** Since when each of them is heard; null while silent. */
  #agentMs: number | null = null;
  #callerMs: number | null = null;
  #isPaused = false;
  #noted = 0;

  /** Observes one step of the machine; returns the overlap it ended, if worth reporting. */
  observe(input: TurnInput, effects: readonly Effect[]): NotedOverlap | null {
    const ended = this.#heard(input);
    return this.#carriedOut(effects, input.atMs) ?? ended;
  }

  #heard(input: TurnInput): NotedOverlap | null {
    switch (input.type) {
      case 'voice.started':
        this.#callerMs ??= input.speechStartMs;
        return null;
      case 'voice.stopped':
        return this.#callerStops(input.speechEndMs);
      case 'leg.lost':
        // The end of their voice never comes, and the next leg may be quiet.
        return this.#callerStops(input.atMs);
      case 'playout.started':
        this.#isPaused = false;
        this.#agentMs ??= input.wireMs;
        return null;
      case 'playout.finished':
      case 'playout.cleared':
        this.#isPaused = false;
        return this.#agentStops(input.atMs);
      default:
        return null;
    }
  }

  /** A pause silences the agent before its reply ends. */
  #carriedOut(effects: readonly Effect[], atMs: number): NotedOverlap | null {
    let ended: NotedOverlap | null = null;
    for (const effect of effects) {
      if (effect.do === 'pause' && this.#agentMs !== null) {
        ended = this.#agentStops(atMs);
        this.#isPaused = true;
      } else if (effect.do === 'resume' && this.#isPaused) {
        this.#isPaused = false;
        this.#agentMs = atMs;
      }
    }
    return ended;
  }

  #agentStops(atMs: number): NotedOverlap | null {
    const ended = this.#until(atMs);
    this.#agentMs = null;
    return ended;
  }

  #callerStops(atMs: number): NotedOverlap | null {
    const ended = this.#until(atMs);
    this.#callerMs = null;
    return ended;
  }

  #until(untilMs: number): NotedOverlap | null {
    const [agentMs, callerMs] = [this.#agentMs, this.#callerMs];
    if (agentMs === null || callerMs === null || this.#noted >= MOST) return null;
    const fromMs = Math.max(agentMs, callerMs);
    if (untilMs - fromMs < NOTED_FROM_MS) return null;
    this.#noted += 1;
    return { fromMs, untilMs, begunBy: agentMs > callerMs ? 'agent' : 'caller' };
  }
}
