/**
 * `Ledger`: the wallets of all accounts, as the other rooms use them. Implemented by
 * `accounts/wallet/ledger.ts`.
 */

/** Kinds of ledger entries. */
export type LedgerKind = 'top_up' | 'hold' | 'settle' | 'refund' | 'void' | 'adjust';

/** One entry of a user's ledger; amounts are integer micro-dollars. */
export interface LedgerEntry {
  readonly userId: string;
  /** Sequence number per user, starting at 1. */
  readonly seq: number;
  /** Identifies what the entry pays for; unique per user, so posting twice yields the same entry. */
  readonly key: string;
  readonly kind: LedgerKind;
  readonly amountMicros: number;
  readonly balanceMicros: number;
  readonly cumulativeTopUpMicros: number;
  readonly at: Date;
}

/** A ledger entry that is inconsistent with the preceding ones. */
export interface LedgerFlaw {
  readonly userId: string;
  readonly seq: number;
  readonly problem: string;
}

/** An entry to post. */
export interface Posting {
  readonly userId: string;
  readonly key: string;
  readonly kind: LedgerKind;
  /** Negative amounts debit the wallet. */
  readonly amountMicros: number;
  /** Minimum balance after the posting; no minimum when absent. */
  readonly floorMicros?: number;
}

/** The wallets: an append-only ledger in which every decision is a single insert. */
export interface Ledger {
  /**
   * Posts an entry, or returns the existing entry with this key, whatever its kind and amount. Throws
   * `Fault('out_of_credit')` if the balance would fall below the floor.
   */
  post(posting: Posting): Promise<LedgerEntry>;
  /** A user's newest entry; null if the user has none. */
  newest(userId: string): Promise<LedgerEntry | null>;
  /** A user's first and newest entries; null if the user has none. */
  wallet(userId: string): Promise<{ readonly first: LedgerEntry; readonly newest: LedgerEntry } | null>;
  /** Verifies a user's whole ledger: null if it is consistent, otherwise the first inconsistent entry. */
  verify(userId: string): Promise<LedgerFlaw | null>;
}
