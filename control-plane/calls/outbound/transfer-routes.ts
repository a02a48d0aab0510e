/**
 * Questions of workers before a transfer. From a managed number, a transfer needs permission
 * (protocol/transfer-permission.ts): the platform pays for the dial, so it counts against the account's rate
 * of outbound calls. To an extension, it needs the places of its phones (protocol/phone-places.ts).
 */
import { phonePlaces, phonesQuestion } from '#protocol/phone-places.ts';
import { transferPermission, transferQuestion } from '#protocol/transfer-permission.ts';
import { placesOf } from '../../catalogue/phones/phone-places.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { countDialled } from './toll-guard.ts';

/** Registers the routes. Transfers of a session that no longer exists are refused. */
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

  app.post(
    '/internal/sip/phones',
    {
      config: { access: 'none' },
      onRequest: workersOnly(context),
      schema: { hide: true, body: phonesQuestion, response: { 200: phonePlaces } },
    },
    async (request) => {
      const { session_id: id, extension } = request.body;
      const session = await context.models.sessions
        .findById(id, { team_id: 1 })
        .lean<Pick<SessionDocument, 'team_id'>>();
      return { places: session ? await placesOf(context, session.team_id, extension) : [] };
    },
  );
}
