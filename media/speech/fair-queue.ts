/**
 * Work of several accounts that is done one piece after the other: next is the oldest piece of whoever has
 * had least. Who had nothing to do for a while is owed no more than a head start: a short request goes before
 * what is left of long ones, and nobody is put off for longer than others' head starts take.
 */

/** Accounts that are remembered; who is forgotten comes anew. */
const MOST_ACCOUNTS = 200;

interface Line<Item> {
  readonly waiting: { readonly item: Item; readonly cost: number }[];
  /** What the account has had, on the queue's own scale. */
  had: number;
}

/** Pieces that wait. Costs are in any one unit: of audio, of text. */
export class FairQueue<Item> {
  readonly #headStart: number;
  /** Also of accounts without a piece, while they have had more than a newcomer. */
  readonly #lines = new Map<string, Line<Item>>();
  /** The most anybody had whose turn it was. */
  #reached = 0;

  /**
   * `headStart`: how much of the work of one account, in the unit of the costs, may go before that of others.
   */
  constructor(headStart: number) {
    this.#headStart = headStart;
  }

  /** Pieces of one account keep their order. */
  add(account: string, item: Item, cost: number): void {
    const line = this.#lines.get(account) ?? this.#begin(account);
    if (line.waiting.length === 0) line.had = Math.max(line.had, this.#reached - this.#headStart);
    line.waiting.push({ item, cost });
  }

  #begin(account: string): Line<Item> {
    const idle =
      this.#lines.size < MOST_ACCOUNTS
        ? undefined
        : [...this.#lines].find(([, { waiting }]) => waiting.length === 0);
    if (idle) this.#lines.delete(idle[0]);
    const line = { waiting: [], had: Number.NEGATIVE_INFINITY };
    this.#lines.set(account, line);
    return line;
  }

  /** Takes a piece out that is no longer wanted, if it still waits. */
  remove(item: Item): void {
    for (const { waiting } of this.#lines.values()) {
      const index = waiting.findIndex((piece) => piece.item === item);
      if (index !== -1) waiting.splice(index, 1);
    }
  }

  /** Takes out what is to be done next; undefined when nothing waits. */
  next(): Item | undefined {
    let least: Line<Item> | null = null;
    for (const [account, line] of this.#lines) {
      if (line.waiting.length === 0 && line.had <= this.#reached - this.#headStart)
        this.#lines.delete(account);
      if (line.waiting.length > 0 && (least === null || line.had < least.had)) least = line;
    }
    const piece = least?.waiting.shift();
    if (!least || !piece) return undefined;
    this.#reached = Math.max(this.#reached, least.had);
    least.had += piece.cost;
    return piece.item;
  }

  /** Whether a piece of another account waits. */
  hasOthers(account: string): boolean {
    return [...this.#lines].some(([other, { waiting }]) => other !== account && waiting.length > 0);
  }

  /** Takes everything out. */
  drain(): Item[] {
    const items = [...this.#lines.values()].flatMap(({ waiting }) => waiting.map(({ item }) => item));
    this.#lines.clear();
    return items;
  }
}
