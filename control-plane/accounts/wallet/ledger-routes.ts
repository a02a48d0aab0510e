/** `GET /wallet/{user_id}/ledger`: every entry of a wallet with its purpose, newest first. */
import { z } from 'zod';
import { formatMoney } from '#base/money.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { encodeCursor, listOf, listQuery, listStart } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { LedgerDocument } from '../../platform/store/models/ledger-model.ts';
import { readableUser } from './wallet-routes.ts';

const entryRecord = z.object({
  seq: z.number().int(),
  kind: z.enum(['top_up', 'hold', 'settle', 'refund', 'void', 'adjust']),
  /** Negative amounts debit the wallet. */
  amount: z.string(),
  /** Balance after this entry. */
  balance: z.string(),
  /** The session this entry paid for, if any. */
  session_id: z.string().nullable(),
  /** The posting's idempotency key. */
  reference: z.string(),
  created_at: z.iso.datetime(),
});

/** Registers the ledger route. */
export function registerLedgerRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/wallet/:user_id/ledger',
    {
      schema: {
        tags: ['wallet'],
        params: z.object({ user_id: z.string() }),
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('entries', entryRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const userId = readableUser(callerOf(request), request.params.user_id);
      const start = listStart(query);
      const after = 'after' in start ? start.after : null;
      const { ledger } = context.models;
      // Sorted by sequence number, which the unique index covers.
      const found = await ledger
        .find({ user_id: userId, ...(after ? { seq: { $lt: Number(after.id) } } : {}) })
        .sort({ seq: -1 })
        .skip('skip' in start ? start.skip : 0)
        .limit(query.page_size + 1)
        .lean<LedgerDocument[]>();
      const rows = found.slice(0, query.page_size);
      const last = rows.at(-1);
      const hasMore = found.length > rows.length;
      return {
        entries: rows.map(toEntryRecord),
        has_more: hasMore,
        next_cursor: hasMore && last ? encodeCursor({ at: last.at, id: String(last.seq) }) : null,
        total:
          'skip' in start || query.include_total ? await ledger.countDocuments({ user_id: userId }) : null,
      };
    },
  );
}

function toEntryRecord(entry: LedgerDocument): z.output<typeof entryRecord> {
  return {
    seq: entry.seq,
    kind: entry.kind,
    amount: formatMoney(entry.amount),
    balance: formatMoney(entry.balance),
    session_id: /^s:([0-9a-f]{32}):/.exec(entry.key)?.[1] ?? null,
    reference: entry.key,
    created_at: entry.at.toISOString(),
  };
}
