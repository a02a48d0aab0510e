/** Health of embedded signalling that was started alone. */
import type { Meters } from '#base/meters.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Health } from './health-server.ts';

type Field = keyof ReturnType<EmbeddedSignalling['metrics']>;

const GAUGES: readonly (readonly [string, string, Field])[] = [
  ['parley_sip_workers', 'Connected workers.', 'workers'],
  ['parley_sip_dialogs', 'Answered calls, one for each side.', 'dialogs'],
  ['parley_sip_transactions', 'SIP transactions under way.', 'transactions'],
];
const TOTALS: readonly (readonly [string, string, Field])[] = [
  ['parley_sip_invites_total', 'New INVITEs.', 'invites'],
  ['parley_sip_refused_invites_total', 'INVITEs refused by the control plane or for want of one.', 'refused'],
  ['parley_sip_malformed_messages_total', 'Messages that are not SIP.', 'malformed'],
  ['parley_sip_flooded_messages_total', 'Messages dropped because their source sends too many.', 'flooded'],
  ['parley_sip_lost_dialogs_total', 'Calls whose worker was lost and that no other one took.', 'dialogsLost'],
];

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

/** The readiness of a SIP server; adds its metrics. */
export function healthOfSignalling(
  server: Pick<EmbeddedSignalling, 'metrics'>,
  contact: Pick<ControlPlaneContact, 'hasFailed'>,
  meters: Meters,
): Health {
  for (const [name, help, field] of GAUGES) meters.gauge({ name, help, read: () => server.metrics()[field] });
  for (const [name, help, field] of TOTALS) meters.total({ name, help, read: () => server.metrics()[field] });
  meters.gauge({
    name: 'parley_sip_control_plane_answers',
    help: '1 unless the last request to a control plane failed: without one, INVITEs are refused.',
    read: () => Number(!contact.hasFailed),
  });
  return {
    missing: () => [
      ...(server.metrics().workers === 0 ? ['no worker is connected'] : []),
      ...(contact.hasFailed ? ['no control plane answers'] : []),
    ],
    meters,
  };
}
