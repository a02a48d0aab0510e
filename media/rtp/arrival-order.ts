/**
 * Puts packets that overtook each other back in order for whoever listens ahead of the jitter buffer: one that follows its predecessor passes at once,
 * one that came too early waits for what is missing, for a short while. Pure; time is handed in.
 */

/** What is missing is waited for no longer than this: a lost packet must not make an interruption late. */
const HOLD_MS = 40;
/** A longer gap is a pause of the sender, not packets on their way. */
const LONGEST_GAP_MS = 80;

/** Audio of one packet. */
export interface ArrivedAudio {
  readonly samples: Int16Array;
  /** Where it stands in the stream, ms on the sender's own clock; never wraps. */
  readonly rtpMs: number;
  /** Clock time at which its first sample was spoken. */
  readonly spokenMs: number;
}

/** The packets of one stream. */
export class ArrivalOrder {
  readonly #rateHz: number;
  readonly #give: (audio: ArrivedAudio) => void;
  readonly #held: (ArrivedAudio & { readonly untilMs: number })[] = [];
  /** Where the next packet should stand. */
  #nextMs: number | null = null;

  /** `rateHz` is the rate of the samples; `give` gets each packet at most once, in order. */
  constructor(rateHz: number, give: (audio: ArrivedAudio) => void) {
    this.#rateHz = rateHz;
    this.#give = give;
  }

  /** Takes a packet that arrived at `nowMs`, its samples good only for this call; one that was given up for lost is dropped. */
  push(audio: ArrivedAudio, nowMs: number): void {
    const gapMs = this.#nextMs === null ? 0 : audio.rtpMs - this.#nextMs;
    if (gapMs < 0) return;
    if (gapMs === 0 || gapMs > LONGEST_GAP_MS) this.#pass(audio);
    else {
      const behind = this.#held.findIndex(({ rtpMs }) => rtpMs >= audio.rtpMs);
      if (this.#held[behind]?.rtpMs === audio.rtpMs) return;
      const kept = { ...audio, samples: audio.samples.slice(), untilMs: nowMs + HOLD_MS };
      this.#held.splice(behind < 0 ? this.#held.length : behind, 0, kept);
    }
    this.#release(nowMs);
  }

  /** Gives what has waited for long enough; called once per slot. */
  expire(nowMs: number): void {
    if (this.#held.length > 0) this.#release(nowMs);
  }

  #release(nowMs: number): void {
    const isDue = () => this.#held.some(({ rtpMs, untilMs }) => rtpMs <= (this.#nextMs ?? rtpMs) || untilMs <= nowMs);
    while (isDue()) this.#pass(this.#held.shift() as ArrivedAudio);
  }

  #pass(audio: ArrivedAudio): void {
    if (this.#nextMs !== null && audio.rtpMs < this.#nextMs) return;
    this.#nextMs = audio.rtpMs + (audio.samples.length * 1_000) / this.#rateHz;
    this.#give(audio);
  }
}
