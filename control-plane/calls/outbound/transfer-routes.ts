/**
 * Permission that workers request before a transfer from a managed number (protocol/transfer-permission.ts):
 * the platform pays for the dial, so it counts against the account's rate of outbound calls.
 */
import { transferPermission, transferQuestion } from '#protocol/transfer-permission.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { countDialled } from './toll-guard.ts';

/** Registers the route. Transfers of a session that no longer exists are refused. */
export function registerTransferRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/internal/transfers',
    {
      config: { access: 'none' },
      onRequest: workersOnly(context),
      schema: { hide: true, body: transferQuestion, response: { 200: transferPermission } },
    },
    async (request) => {
      const session = await context.models.sessions
        .findById(request.body.session_id, { user_id: 1 })
        .lean<Pick<SessionDocument, 'user_id'>>();
      return { is_allowed: session !== null && (await countDialled(context, session.user_id)).allowed };
    },
  );
}
