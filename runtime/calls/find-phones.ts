/** Asks the control plane where the phones of an extension are registered (protocol/phone-places.ts). */
import type { Logger } from '#base/log.ts';
import { type PhonePlace, phonePlaces } from '#protocol/phone-places.ts';
import { askControlPlane, type ControlPlaneAccess } from '../link/ask-control-plane.ts';

/** The caller waits meanwhile. */
const ANSWER_WITHIN_MS = 4_000;

/** Null if no answer comes in time. Never rejects. */
export async function findPhones(
  deps: ControlPlaneAccess & { readonly logger: Logger },
  about: { readonly sessionId: string; readonly extension: string },
): Promise<readonly PhonePlace[] | null> {
  try {
    const { places } = await askControlPlane(deps, {
      path: '/internal/sip/phones',
      body: { session_id: about.sessionId, extension: about.extension },
      answer: phonePlaces,
      withinMs: ANSWER_WITHIN_MS,
    });
    return places;
  } catch (error) {
    deps.logger.warn({ err: error, ...about }, 'no answer where phones are registered');
    return null;
  }
}
