/**
 * Credit of an account in a cell that is not its home. The home posts an amount as one entry, and the cell
 * charges its calls against it. Messages between cells may be lost or come twice: each posting has a key, and
 * a question is repeated until it is answered.
 */
import type { Ledger, LedgerEntry, Posting } from '#control-plane/platform/ledger.ts';

/** A message from a cell to another about a posting. `granted` of 0 is a refusal. */
export interface TierMessage {
  readonly type: 'ask' | 'granted' | 'returned' | 'received';
  readonly from: number;
  readonly to: number;
  readonly account: string;
  readonly key: string;
  readonly amountMicros: number;
}

/** The cell as its allotments need it. Rejects while no control plane or database is there. */
export interface TierHost {
  now(): number;
  ledger<T>(use: (ledger: Ledger) => Promise<T>): Promise<T>;
  send(message: TierMessage): void;
}

/** A question is asked again after this time without an answer, ms; a refused one, too. */
const REPEAT_MS = 3_000;
const REFUSED_MS = 10_000;

interface Account {
  readonly name: string;
  readonly home: number;
  asked: number;
  /** The question that waits for its answer. */
  open: TierMessage | null;
  /** When it was sent, or when the next one may be, ms. */
  sentMs: number;
  isBusy: boolean;
  isReturned: boolean;
}

/** The accounts of one cell that are at home elsewhere, and the answers to other cells about its own. */
export class Allotments {
  readonly #cell: number;
  readonly #host: TierHost;
  readonly #amountMicros: number;
  readonly #accounts: readonly Account[];
  #isGivingBack = false;

  constructor(
    cell: number,
    host: TierHost,
    plan: { readonly amountMicros: number; readonly accounts: ReadonlyMap<string, number> },
  ) {
    this.#cell = cell;
    this.#host = host;
    this.#amountMicros = plan.amountMicros;
    this.#accounts = [...plan.accounts].map(([name, home]) => ({
      name,
      home,
      asked: 0,
      open: null,
      sentMs: Number.NEGATIVE_INFINITY,
      isBusy: false,
      isReturned: false,
    }));
  }

  /** Nothing is on its way; once giving back, every account has. */
  get isQuiet(): boolean {
    return this.#accounts.every(({ open, isReturned }) => !open && (isReturned || !this.#isGivingBack));
  }

  /** From now on, what is left goes home. */
  giveBack(): void {
    this.#isGivingBack = true;
  }

  /** Looks after every account, as once in a few seconds. */
  look(): void {
    for (const account of this.#accounts) {
      if (account.isBusy || account.isReturned) continue;
      const isDue = this.#host.now() - account.sentMs >= REPEAT_MS;
      if (account.open) {
        if (isDue) this.#send(account, account.open);
      } else if (isDue) this.#alone(account, () => this.#next(account));
    }
  }

  take(message: TierMessage): void {
    const { type, from, account: name, key, amountMicros } = message;
    if (type === 'ask' || type === 'returned') {
      void this.#answer(message).catch(() => undefined);
      return;
    }
    const account = this.#accounts.find((each) => each.name === name && each.home === from);
    if (!account || account.isBusy || account.open?.key !== key) return;
    this.#alone(account, async () => {
      if (type === 'received') account.isReturned = true;
      else if (amountMicros > 0) await this.#post({ userId: name, key, kind: 'adjust', amountMicros });
      else account.sentMs = this.#host.now() + REFUSED_MS;
      account.open = null;
    });
  }

  /** As the home of the account. */
  async #answer({ type, from, account, key, amountMicros }: TierMessage): Promise<void> {
    const posting = { userId: account, key };
    const answer = { from: this.#cell, to: from, account, key } as const;
    if (type === 'returned') {
      await this.#post({ ...posting, kind: 'adjust', amountMicros });
      this.#host.send({ ...answer, type: 'received', amountMicros });
      return;
    }
    const asked = { ...posting, kind: 'adjust', amountMicros: -amountMicros, floorMicros: 0 } as const;
    const posted = await this.#post(asked).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'out_of_credit') throw error;
      // A question that comes twice must not be granted once it was refused.
      return this.#post({ ...posting, kind: 'void', amountMicros: 0 });
    });
    this.#host.send({ ...answer, type: 'granted', amountMicros: Math.abs(posted.amountMicros) });
  }

  async #next(account: Account): Promise<void> {
    const newest = await this.#host.ledger((ledger) => ledger.newest(account.name));
    const balance = newest?.balanceMicros ?? 0;
    if (this.#isGivingBack) await this.#return(account, newest, balance);
    else if (balance < this.#amountMicros / 2) {
      account.asked += 1;
      const key = `allotment:${this.#cell}:${account.asked}`;
      this.#send(account, this.#message('ask', account, key, this.#amountMicros));
    } else account.sentMs = this.#host.now();
  }

  async #return(account: Account, newest: LedgerEntry | null, balance: number): Promise<void> {
    const isPosted = newest?.key.startsWith('return:') === true;
    // Below zero if the home was lost: calls go on.
    if (balance === 0 && !isPosted) {
      account.isReturned = true;
      return;
    }
    const key = isPosted ? newest.key : `return:${this.#cell}`;
    const amount = isPosted ? -newest.amountMicros : balance;
    if (!isPosted) await this.#post({ userId: account.name, key, kind: 'adjust', amountMicros: -amount });
    this.#send(account, this.#message('returned', account, key, amount));
  }

  #message(
    type: TierMessage['type'],
    { name, home }: Account,
    key: string,
    amountMicros: number,
  ): TierMessage {
    return { type, from: this.#cell, to: home, account: name, key, amountMicros };
  }

  #send(account: Account, message: TierMessage): void {
    account.open = message;
    account.sentMs = this.#host.now();
    this.#host.send(message);
  }

  #post(posting: Posting): Promise<LedgerEntry> {
    return this.#host.ledger((ledger) => ledger.post(posting));
  }

  /** One thing at a time for each account; what fails is tried again. */
  #alone(account: Account, work: () => Promise<void>): void {
    account.isBusy = true;
    void work()
      .catch(() => {
        account.sentMs = this.#host.now();
      })
      .finally(() => {
        account.isBusy = false;
      });
  }
}
