/** Leases in the store: one process at a time holds a document, until its time is over. */
import { randomUUID } from 'node:crypto';
import type { Model } from 'mongoose';
import type { Settings } from '#config/env.ts';
import { type Context, now } from '../context.ts';

/** Fields of a document that may be leased. */
interface Leased {
  readonly lease_by: string | null;
  /** Null if no process holds it; absent in documents of earlier releases. */
  readonly lease_until: Date | null;
}

/**
 * A name for the leases of this process. Without other replicas a lease can only be of the process before:
 * all processes have one name, so that it is taken over at once.
 */
export function leaseHolder({ REDIS_URL }: Pick<Settings, 'REDIS_URL'>): string {
  return REDIS_URL === undefined ? 'alone' : randomUUID();
}

/** Takes or renews the lease of a document for `ms`, and returns it; null if another process has it. */
export async function takeLease<Stored extends Leased>(
  { clock }: Pick<Context, 'clock'>,
  { model, filter }: { readonly model: Model<Stored>; readonly filter: object },
  { holder, ms }: { readonly holder: string; readonly ms: number },
): Promise<Stored | null> {
  const at = now({ clock });
  const free = [{ lease_by: holder }, { lease_until: { $lte: at } }, { lease_until: null }];
  const change = { $set: { lease_by: holder, lease_until: new Date(at.getTime() + ms) } };
  return (await model
    .findOneAndUpdate({ ...filter, $or: free } as never, change as never, { returnDocument: 'after' })
    .lean()) as Stored | null;
}
