/**
 * Finds the call of each connection of a recogniser. Nothing in the protocol names it: the bench starts one
 * call at a time and announces it first. A connection that was not announced replaces the one that closed
 * last.
 */
export class CallsOfSockets<Cue> {
  readonly #expected: string[] = [];
  /** Calls whose connection has closed, the last one at the end. */
  readonly #left: string[] = [];
  readonly #cues = new Map<string, Cue>();
  #cueOfAll: Cue;

  /** `silence` is the cue of a call before its first line. */
  constructor(silence: Cue) {
    this.#cueOfAll = silence;
  }

  /** The next connection belongs to this call. */
  expect(call: string): void {
    this.#expected.push(call);
    this.#cues.delete(call);
  }

  /** A connection was made. Returns its call; null if that is not known. */
  connected(): string | null {
    return this.#expected.shift() ?? this.#left.pop() ?? null;
  }

  closed(call: string | null): void {
    if (call !== null) this.#left.push(call);
  }

  /** Sets what a call's caller starts to say; null: every caller, and the calls so far are over. */
  cue(call: string | null, cue: Cue): void {
    if (call !== null) {
      this.#cues.set(call, cue);
      return;
    }
    this.#expected.length = 0;
    this.#left.length = 0;
    this.#cues.clear();
    this.#cueOfAll = cue;
  }

  /** The line that a caller says at the moment. */
  cueOf(call: string | null): Cue {
    return (call === null ? undefined : this.#cues.get(call)) ?? this.#cueOfAll;
  }
}
