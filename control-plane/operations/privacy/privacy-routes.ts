/**
 * Privacy routes of a team: retention (`/v1/agent/privacy`) and the erasure of one person
 * (`/v1/agent/erasures`).
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { isE164 } from '#telephony/e164.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { DEFAULT_RETENTION, type PrivacyDocument } from '../../platform/store/models/privacy-model.ts';
import { erasePerson } from './erase.ts';

const MAX_DAYS = 3_650;
const days = z.number().int().min(1).max(MAX_DAYS).nullable();

const retention = z.strictObject({
  recordings_days: days,
  transcripts_days: days,
  flight_logs_days: days,
  deliveries_days: days,
  test_runs_days: days,
  batch_calls_days: days,
});
const person = z
  .strictObject({
    end_user_id: z.string().min(1).max(LIMITS.endUserIdChars).optional(),
    phone_number: z
      .string()
      .max(32)
      .refine(isE164, 'must be an E.164 number such as +14155550123')
      .optional(),
  })
  .refine(
    (given) => given.end_user_id !== undefined || given.phone_number !== undefined,
    'end_user_id or phone_number is required',
  );
const count = z.number().int();

/** Registers the privacy routes. */
export function registerPrivacyRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/privacy',
    {
      schema: {
        tags: ['privacy'],
        response: { 200: retention },
      },
    },
    async (request) =>
      toRecord(await context.models.privacy.findById(callerOf(request).teamId).lean<PrivacyDocument>()),
  );

  app.patch(
    '/v1/agent/privacy',
    { schema: { tags: ['privacy'], body: retention.partial(), response: { 200: retention } } },
    async (request) => {
      const settings = await context.models.privacy
        .findOneAndUpdate(
          { _id: callerOf(request).teamId },
          { $set: request.body },
          { upsert: true, setDefaultsOnInsert: true, returnDocument: 'after' },
        )
        .lean<PrivacyDocument>();
      return toRecord(settings);
    },
  );

  app.post(
    '/v1/agent/erasures',
    {
      schema: {
        tags: ['privacy'],
        body: person,
        response: {
          200: z.object({
            sessions: count,
            recording_segments: count,
            flight_log_chunks: count,
            attachments: count,
            deliveries: count,
            /** Absent if there were none. */
            text_sessions: count.optional(),
          }),
        },
      },
    },
    async (request) => {
      const { end_user_id: endUserId, phone_number: phoneNumber } = request.body;
      const erased = await erasePerson(context, callerOf(request).teamId, { endUserId, phoneNumber });
      context.database.scrub();
      context.logger.info({ ...erased }, 'person erased');
      return erased;
    },
  );
}

function toRecord(settings: PrivacyDocument | null): z.output<typeof retention> {
  const {
    recordings_days,
    transcripts_days,
    flight_logs_days,
    deliveries_days,
    test_runs_days,
    batch_calls_days,
  } = {
    ...DEFAULT_RETENTION,
    ...settings,
  };
  return {
    recordings_days,
    transcripts_days,
    flight_logs_days,
    deliveries_days,
    test_runs_days,
    batch_calls_days,
  };
}
