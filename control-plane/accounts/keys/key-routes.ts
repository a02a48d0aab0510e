/** Routes for the caller's own keys. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf, requireExportRight } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { removeFromQuota } from '../limits/quotas.ts';
import { createKey, listKeys } from './accounts.ts';
import { createdKey, expiryOf, keyList, newKeyFields, toKeyList } from './key-record.ts';

/** Registers the routes for the caller's own keys. */
export function registerKeyRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/keys',
    {
      config: { refusesKey: true },
      schema: { tags: ['keys'], body: z.strictObject(newKeyFields), response: { 201: createdKey } },
    },
    async (request, reply) => {
      const { name, expires_at, may_export_calls } = request.body;
      const caller = callerOf(request);
      if (may_export_calls) requireExportRight(caller);
      const { keyId, apiKey } = await createKey(context, caller.userId, {
        name,
        expiresAt: expiryOf(expires_at),
        mayExportCalls: may_export_calls === true,
      });
      return reply.code(201).send({ key_id: keyId, api_key: apiKey });
    },
  );

  app.get('/v1/keys', { schema: { tags: ['keys'], response: { 200: keyList } } }, async (request) =>
    toKeyList(await listKeys(context, callerOf(request).userId)),
  );

  app.delete(
    '/v1/keys/:key_id',
    {
      schema: { tags: ['keys'], params: z.object({ key_id: z.string() }), response: { 204: z.undefined() } },
    },
    async (request, reply) => {
      // The operator's own key comes from ROOT_API_KEY or credentials.json: it has no record to delete here.
      const [id, owner] = [request.params.key_id, callerOf(request).userId];
      await removeFromQuota(context, { kind: 'keys', owner, id }, async () => {
        const { deletedCount } = await context.models.keys.deleteOne({
          _id: id,
          user_id: owner,
          is_root: false,
        });
        if (deletedCount === 0) throw fault('not_found');
      });
      return reply.code(204).send();
    },
  );
}
