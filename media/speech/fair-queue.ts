/**
 * A queue that shares work fairly among accounts. The next piece is the oldest one of the account that has
 * had the least work done. An account that was idle is ahead by at most the head start, so that short
 * requests overtake long ones, and a long one waits at most for the head starts of the other accounts.
 */

/** Most accounts remembered; a forgotten one counts as new. */
const MAX_ACCOUNTS = 200;

interface Line<Item> {
  readonly waiting: { readonly item: Item; readonly cost: number }[];
  /** Work done for the account, on the queue's own scale. */
  workDone: number;
}

/** Waiting pieces. Costs may be in any one unit: of audio, of text. */
export class FairQueue<Item> {
  readonly #headStart: number;
  /** Includes accounts without pieces while more work was done for them than for a new one. */
  readonly #lines = new Map<string, Line<Item>>();
  /** The most work done for any account when its piece was chosen. */
  #reached = 0;

  /** `headStart`: how much work of one account, in units of cost, may precede that of others. */
  constructor(headStart: number) {
    this.#headStart = headStart;
  }

  /** Adds a piece; those of one account keep their order. */
  add(account: string, item: Item, cost: number): void {
    const line = this.#lines.get(account) ?? this.#begin(account);
    if (line.waiting.length === 0) line.workDone = Math.max(line.workDone, this.#reached - this.#headStart);
    line.waiting.push({ item, cost });
  }

  #begin(account: string): Line<Item> {
    const idle =
      this.#lines.size < MAX_ACCOUNTS
        ? undefined
        : [...this.#lines].find(([, { waiting }]) => waiting.length === 0);
    if (idle) this.#lines.delete(idle[0]);
    const line = { waiting: [], workDone: Number.NEGATIVE_INFINITY };
    this.#lines.set(account, line);
    return line;
  }

  /** Removes a piece that is still waiting. */
  remove(item: Item): void {
    for (const { waiting } of this.#lines.values()) {
      const index = waiting.findIndex((piece) => piece.item === item);
      if (index !== -1) waiting.splice(index, 1);
    }
  }

  /** Removes the next piece and returns it; undefined if none waits. */
  next(): Item | undefined {
    let least: Line<Item> | null = null;
    for (const [account, line] of this.#lines) {
      if (line.waiting.length === 0 && line.workDone <= this.#reached - this.#headStart)
        this.#lines.delete(account);
      if (line.waiting.length > 0 && (least === null || line.workDone < least.workDone)) least = line;
    }
    const piece = least?.waiting.shift();
    if (!least || !piece) return undefined;
    this.#reached = Math.max(this.#reached, least.workDone);
    least.workDone += piece.cost;
    return piece.item;
  }

  /** Whether a piece of another account waits. */
  hasOthers(account: string): boolean {
    return [...this.#lines].some(([other, { waiting }]) => other !== account && waiting.length > 0);
  }

  /** Removes every piece. */
  drain(): Item[] {
    const items = [...this.#lines.values()].flatMap(({ waiting }) => waiting.map(({ item }) => item));
    this.#lines.clear();
    return items;
  }
}
