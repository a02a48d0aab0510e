/** Health of embedded signalling that was started alone. */
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Health } from './health-server.ts';

/** Whether control planes answer this signalling, known from its own requests to them. */
export class ControlPlaneContact {
  #hasFailed = false;

  /** The last request got no answer. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** A request whose outcome counts. */
  counted<Question, Answer>(
    ask: (question: Question) => Promise<Answer>,
  ): (question: Question) => Promise<Answer> {
    return async (question) => {
      try {
        const answer = await ask(question);
        this.#hasFailed = false;
        return answer;
      } catch (error) {
        this.#hasFailed = true;
        throw error;
      }
    };
  }
}

/** The readiness and the meters of a SIP server. */
export function healthOfSignalling(server: EmbeddedSignalling, contact: ControlPlaneContact): Health {
  const meter = (name: string, help: string, field: keyof ReturnType<EmbeddedSignalling['metrics']>) => ({
    name: `parley_sip_${name}`,
    help,
    read: () => server.metrics()[field],
  });
  return {
    missing: () => [
      ...(server.metrics().workers === 0 ? ['no worker is connected'] : []),
      ...(contact.hasFailed ? ['no control plane answers'] : []),
    ],
    meters: [
      meter('workers', 'Connected workers.', 'workers'),
      meter('dialogs', 'Answered calls, one for each side.', 'dialogs'),
      meter('transactions', 'SIP transactions under way.', 'transactions'),
      meter('invites_total', 'New INVITEs.', 'invites'),
      meter('refused_invites_total', 'INVITEs refused by the control plane or for want of one.', 'refused'),
      meter('malformed_messages_total', 'Messages that are not SIP.', 'malformed'),
      meter('flooded_messages_total', 'Messages dropped because their source sends too many.', 'flooded'),
      meter('lost_dialogs_total', 'Calls whose worker was lost and that no other one took.', 'dialogsLost'),
    ],
  };
}
