/**
 * `PUT /admin/numbers/{phone_number_id}/proof`: the operator confirms that an imported number belongs to its
 * holder. A call over the holder's own trunk proves nothing, because anyone who claims a number can place
 * one. The operator calls the number over its own trunk or checks the carrier's invoice.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { type NumberDocument, OCCUPYING_STATUSES } from '../../platform/store/models/number-model.ts';

const proof = { phone_number_id: z.string(), phone_number: z.string(), is_proven: z.boolean() };

/** Registers the route. */
export function registerProofRoutes(app: ApiServer, context: Context): void {
  app.put(
    '/admin/numbers/:phone_number_id/proof',
    {
      config: { access: 'operator' },
      schema: {
        tags: ['operator'],
        params: z.object({ phone_number_id: z.string() }),
        body: z.strictObject({ is_proven: z.boolean() }),
        response: { 200: z.object(proof) },
      },
    },
    async (request) => {
      const imported = {
        _id: request.params.phone_number_id,
        provider: 'sip',
        status: { $in: [...OCCUPYING_STATUSES] },
      } as const;
      const change = { $set: { is_proven: request.body.is_proven, updated_at: now(context) } };
      const number = await context.models.numbers
        .findOneAndUpdate(imported, change, { returnDocument: 'after' })
        .lean<NumberDocument>()
        .catch((error: unknown) => {
          throw isDuplicateKey(error) ? fault('number_taken') : error;
        });
      if (!number) throw fault('not_found');
      return {
        phone_number_id: number._id,
        phone_number: number.phone_number,
        is_proven: number.is_proven ?? false,
      };
    },
  );
}
