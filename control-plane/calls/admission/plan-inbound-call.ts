/** The plan of an admitted inbound call: made once its init webhook has answered, and stored. */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { StreamVendor } from '#protocol/media-streams.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { isE164 } from '#telephony/e164.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { planTransfers } from '../outbound/transfer-plan.ts';
import { buildPlan } from '../plans/build-plan.ts';
import { storePlan } from '../sessions/new-session.ts';
import type { PlacedSession } from '../sessions/place-session.ts';
import { loadSession } from '../sessions/session-store.ts';
import { earlierTexts } from '../texts/earlier-texts.ts';
import { askInitWebhook } from './init-webhook.ts';
import type { TestedAgent } from './test-call.ts';

/** The destination of an admissible call, before the charge. */
interface Callee {
  readonly number: NumberDocument;
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Null if no share has decided the version. */
  readonly share: SessionShare | null;
}

/** An inbound call while it is admitted. */
export interface InboundCall {
  readonly request: AdmissionRequest;
  readonly callee: Callee;
  readonly sessionId: string;
  /** Free and in no list. */
  readonly isTest: boolean;
  /** Set in a voice test. */
  readonly tested: TestedAgent | null;
  readonly isAwaited: () => boolean;
  /** Set if a vendor's media stream brings the call, not an INVITE. */
  readonly vendor: StreamVendor | null;
}

/** The same, once a worker has it. */
export type AdmittedCall = InboundCall & { readonly placed: PlacedSession };

/** Calls the init webhook, then stores the plan; null if the caller has hung up in the meantime. */
export async function preparePlan(
  context: Context,
  call: AdmittedCall,
): Promise<{ readonly session: SessionDocument; readonly plan: CallPlan } | null> {
  const { request, placed, isTest, tested } = call;
  const { number, agent, version } = call.callee;
  const [variables, knowledge, written, transfer] = await Promise.all([
    isTest ? {} : initVariables(context, call),
    planKnowledge(context, version),
    isTest ? null : earlierTexts(context, number, request.from_user),
    // No test calls a person.
    tested
      ? null
      : planTransfers(context, number, {
          sessionId: placed.session._id,
          config: version.config,
          callerNumber: request.from_user,
        }),
  ]);
  // An init webhook and the addresses of transfers may take so long that the caller has given up.
  const hasWaited = transfer !== null || (!isTest && version.config.webhooks.conversation_init !== null);
  const session = hasWaited ? await loadSession(context, placed.session._id) : placed.session;
  if (!session || !isLive(session.status)) return null;
  const plan = buildPlan(context, {
    sessionId: session._id,
    agent,
    version,
    knowledge,
    channel: 'phone_inbound',
    transport: transportOf(call),
    timezone: session.timezone,
    callerNumber: request.from_user,
    dialedNumber: number.phone_number,
    overrides: {},
    variables,
    endUserId: null,
    llmExtraBody: null,
    recordAudio: isTest ? false : null,
    toolEvents: false,
    worldContext: true,
    isPreview: isTest,
    earlierTexts: written?.text ?? null,
    transfer,
  });
  await Promise.all([
    storePlan(context, session, plan),
    written && noteContinued(context, session, written.sessionId),
  ]);
  return { session, plan };
}

/** The header with the vendor's id of a call; Twilio's trunks name it so. */
export function callIdHeader(vendor: StreamVendor): string {
  return `x-${vendor}-callsid`;
}

function transportOf({ vendor, request, callee: { number } }: InboundCall): CallPlan['transport'] {
  const numbers = { from_number: request.from_user, to_number: number.phone_number };
  if (vendor) return { type: 'media_stream', vendor, ...numbers };
  const isTenants = number.provider !== 'managed';
  return { type: 'sip_inbound', sip_call_id: request.call_id, ...numbers, is_tenants: isTenants };
}

/** Keeps which text session the caller goes on with. */
async function noteContinued(
  { models }: Context,
  { _id }: Pick<SessionDocument, '_id'>,
  continuedFrom: string,
): Promise<void> {
  await models.sessions.updateOne({ _id }, { $set: { continued_from: continuedFrom } });
}

async function initVariables(
  context: Context,
  { request, vendor, callee: { number, agent, version } }: InboundCall,
) {
  const init = version.config.webhooks.conversation_init;
  if (!init) return {};
  const secret = version.secrets.conversation_init.find((key) => key.url === init.url)?.sealed ?? null;
  const provider = vendor ?? (number.provider === 'managed' ? 'twilio' : null);
  return askInitWebhook(
    context,
    { url: init.url, timeoutSeconds: init.timeout_seconds, secret },
    {
      event: 'call.inbound',
      call: {
        caller_number: isE164(request.from_user) ? request.from_user : '',
        dialed_number: number.phone_number,
        agent_id: agent._id,
        phone_number_id: number._id,
        provider_call_sid: (provider && request.headers[callIdHeader(provider)]) ?? '',
      },
    },
  );
}
