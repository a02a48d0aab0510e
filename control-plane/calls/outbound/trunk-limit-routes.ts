/**
 * `GET` and `PUT /v1/agent/phone-numbers/{phone_number_id}/limits`: limits for calls through a number's
 * trunk, kept apart from the number record.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { findNumber } from '../../catalogue/numbers/number-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { recountPlaces } from '../../platform/store/counted-places.ts';
import { trunkPlaces } from './trunk-limits.ts';

const numberPath = z.object({ phone_number_id: z.string() });
const limit = z.number().int().min(0).max(100_000).nullable();
const trunkLimits = z.strictObject({ concurrent_calls: limit, calls_per_minute: limit });
const NO_LIMITS = { concurrent_calls: null, calls_per_minute: null };

/** Registers the trunk limit routes. */
export function registerTrunkLimitRoutes(app: ApiServer, context: Context): void {
  const url = '/v1/agent/phone-numbers/:phone_number_id/limits';

  app.get(
    url,
    {
      schema: {
        tags: ['phone numbers'],
        params: numberPath,
        response: { 200: trunkLimits },
      },
    },
    async (request) => {
      const number = await findNumber(context, callerOf(request).teamId, request.params.phone_number_id);
      return number.trunk_limits ?? NO_LIMITS;
    },
  );

  app.put(
    url,
    {
      schema: {
        tags: ['phone numbers'],
        params: numberPath,
        body: trunkLimits,
        response: { 200: trunkLimits },
      },
    },
    async (request) => {
      const number = await findNumber(context, callerOf(request).teamId, request.params.phone_number_id);
      const { matchedCount } = await context.models.numbers.updateOne(
        { _id: number._id, status: { $ne: 'released' } },
        { $set: { trunk_limits: request.body } },
      );
      if (matchedCount === 0) throw fault('not_found');
      // Calls placed while there was no limit were not counted.
      await recountPlaces(context, trunkPlaces(number));
      return request.body;
    },
  );
}
