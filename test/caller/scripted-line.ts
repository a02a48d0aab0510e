/** A line on which the agent is audible at set times; its clock runs only in waits. */
import type { CallerStream } from '#caller/take-turns.ts';

const PACKET_MS = 20;

/** The agent is audible for a second from each of these times, ms. */
export class ScriptedLine implements CallerStream<number> {
  nowMs = 0;
  readonly pressed: string[] = [];
  readonly #agentFromMs: number[];

  constructor(...agentFromMs: number[]) {
    this.#agentFromMs = agentFromMs;
  }

  /** The agent answers: it begins after so many ms. */
  answerIn(ms: number): void {
    this.#agentFromMs.push(this.nowMs + ms);
  }

  get lastVoicedMs(): number | null {
    const fromMs = this.#latest();
    return fromMs === null ? null : Math.min(this.nowMs, fromMs + 1_000);
  }

  agentSpokeForMs(): number {
    const fromMs = this.#latest();
    return fromMs === null || this.nowMs > fromMs + 1_000 ? 0 : this.nowMs - fromMs;
  }

  agentQuietForMs(): number {
    return this.nowMs - (this.lastVoicedMs ?? this.nowMs);
  }

  async until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    const endMs = this.nowMs + timeoutMs;
    while (!condition()) {
      if (this.nowMs >= endMs) return false;
      this.nowMs += PACKET_MS;
    }
    return true;
  }

  async say(samples: Int16Array): Promise<number> {
    this.nowMs += samples.length / 8;
    return this.nowMs;
  }

  async press(digits: string): Promise<void> {
    this.pressed.push(digits);
  }

  #latest(): number | null {
    return this.#agentFromMs.filter((fromMs) => fromMs <= this.nowMs).at(-1) ?? null;
  }
}
