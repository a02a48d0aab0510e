/** `GET /v1/agent/audit-log`: who changed what in a team's configuration and when, newest first. */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';

const auditRecord = z.object({
  entry_id: z.string(),
  user_id: z.string(),
  key_id: z.string(),
  action: z.string(),
  resource: z.string(),
  resource_id: z.string().nullable(),
  fields: z.array(z.string()),
  request_id: z.string(),
  created_at: z.iso.datetime(),
});

/** Registers the audit log. */
export function registerAuditRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/audit-log',
    {
      schema: {
        tags: ['audit'],
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('entries', auditRecord) },
      },
    },
    async (request) => {
      const { rows, ...page } = await findPage(context.models.auditLog, {
        filter: { team_id: callerOf(request).teamId },
        query: request.query,
      });
      return {
        entries: rows.map(({ _id, team_id: _team, created_at, ...entry }) => ({
          entry_id: _id,
          ...entry,
          created_at: created_at.toISOString(),
        })),
        ...page,
      };
    },
  );
}
