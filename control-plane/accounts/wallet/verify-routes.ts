/**
 * Audit of all wallets: reads each ledger from its first entry and checks that each balance is the sum of the
 * amounts so far and that no sequence number is missing.
 */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';

const proof = z.object({
  users: z.number().int(),
  entries: z.number().int(),
  /** Empty when all ledgers are correct; otherwise the first flaw of each incorrect one. */
  flaws: z.array(z.object({ user_id: z.string(), seq: z.number().int(), problem: z.string() })),
});

/** Registers the operator's audit route for all wallets. */
export function registerVerifyRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/admin/wallets/verify',
    {
      config: { access: 'operator' },
      schema: {
        tags: ['operator'],
        response: { 200: proof },
      },
    },
    async () => {
      const { ledger } = context.models;
      const users = await ledger.distinct('user_id');
      const flaws: z.output<typeof proof>['flaws'] = [];
      for (const userId of users) {
        const flaw = await context.ledger.verify(userId);
        if (flaw) flaws.push({ user_id: flaw.userId, seq: flaw.seq, problem: flaw.problem });
      }
      return { users: users.length, entries: await ledger.countDocuments(), flaws };
    },
  );
}
