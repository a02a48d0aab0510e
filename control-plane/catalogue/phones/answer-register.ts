/** Answers a REGISTER of a phone (RFC 3261 §10.3), and stores what it changes. */
import type { RegisterAnswer, RegisterQuestion } from '#protocol/sip-register.ts';
import {
  contactValues,
  liveBindings,
  type PhoneBinding,
  type Registered,
  type RegisterSource,
  registerPhone,
} from '#telephony/registration/phone-bindings.ts';
import { type RegisterRequest, readRegister } from '#telephony/registration/register-request.ts';
import type { Context } from '../../platform/context.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';
import { provePhone } from './prove-phone.ts';

const CHANGE_ATTEMPTS = 10;
/** How often a phone shows over a connection that it is there (RFC 5626 §4.4.1). */
const FLOW_TIMER_SECONDS = 120;

type Field = RegisterAnswer['headers'][number];

/** Answers one. Throws only for programming errors and database failures. */
export async function answerRegister(context: Context, question: RegisterQuestion): Promise<RegisterAnswer> {
  const request = readRegister(question.headers);
  if (!request) return answer(400, 'Malformed REGISTER');
  if (request.unsupported.length > 0)
    return answer(420, 'Bad Extension', [{ name: 'Unsupported', value: request.unsupported.join(', ') }]);
  const proof = await provePhone(context, {
    method: 'REGISTER',
    requestUri: question.uri,
    answer: question.headers.find(({ name }) => name === 'authorization')?.value,
    sourceAddress: question.source_address,
    userAgent: request.userAgent,
  });
  if (proof.is === 'too_many')
    return answer(503, 'Too Many Attempts', [{ name: 'Retry-After', value: String(proof.seconds) }]);
  if (proof.is === 'challenged')
    return answer(
      401,
      'Unauthorized',
      proof.challenges.map((value) => ({ name: 'WWW-Authenticate', value })),
    );
  return register(context, proof.phone, { request, source: sourceOf(question) });
}

async function register(
  context: Context,
  proven: SipPhoneDocument,
  { request, source }: { readonly request: RegisterRequest; readonly source: RegisterSource },
): Promise<RegisterAnswer> {
  if (![proven.username, proven.extension].includes(request.user))
    return answer(403, 'The User Must Be the Username or the Extension of the Phone');
  const { models, clock } = context;
  const { _id } = proven;
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt++) {
    const phone = attempt === 0 ? proven : await models.sipPhones.findOne({ _id }).lean<SipPhoneDocument>();
    // Deleted, or with another password by now.
    if (!phone || phone.secrets !== proven.secrets) return answer(403, 'Forbidden');
    const nowMs = clock.wallTime();
    const outcome = registerPhone(phone.bindings, request, source, nowMs);
    if (outcome.is !== 'done') return refused(outcome);
    const { bindings, hasChanged } = outcome;
    if (!hasChanged || (await store(context, phone, { bindings, nowMs })))
      return accepted(request, { source, bindings, nowMs });
  }
  return answer(503, 'Service Unavailable', [{ name: 'Retry-After', value: '5' }]);
}

/** False if another REGISTER has changed the phone meanwhile. */
async function store(
  context: Context,
  phone: SipPhoneDocument,
  now: { readonly bindings: readonly PhoneBinding[]; readonly nowMs: number },
): Promise<boolean> {
  const { _id, rev } = phone;
  const change = { $set: { bindings: now.bindings }, $inc: { rev: 1 } };
  const { matchedCount } = await context.models.sipPhones.updateOne({ _id, rev }, change);
  if (matchedCount === 0) return false;
  tell(context, phone, now);
  return true;
}

function refused(outcome: Exclude<Registered, { is: 'done' }>): RegisterAnswer {
  if (outcome.is === 'out_of_order') return answer(500, 'Out of Order');
  return answer(423, 'Interval Too Brief', [{ name: 'Min-Expires', value: String(outcome.minSeconds) }]);
}

function accepted(
  request: RegisterRequest,
  of: {
    readonly source: RegisterSource;
    readonly bindings: readonly PhoneBinding[];
    readonly nowMs: number;
  },
): RegisterAnswer {
  const { source, bindings, nowMs } = of;
  const contacts = contactValues(bindings, nowMs).map((value) => ({ name: 'Contact', value }));
  const path = request.path.map((value) => ({ name: 'Path', value }));
  // Over UDP it would promise answers to STUN (RFC 5626 §4.4.2).
  const keepsFlow =
    source.transport !== 'udp' &&
    request.supported.includes('outbound') &&
    Array.isArray(request.contacts) &&
    request.contacts.some(({ flow }) => flow !== null && !flow.endsWith(' -'));
  const outbound = [
    { name: 'Require', value: 'outbound' },
    { name: 'Flow-Timer', value: String(FLOW_TIMER_SECONDS) },
  ];
  return answer(200, 'OK', [
    ...contacts,
    ...path,
    { name: 'Supported', value: 'path, outbound' },
    ...(keepsFlow ? outbound : []),
    { name: 'Date', value: new Date(nowMs).toUTCString() },
  ]);
}

/** Only what an operator wants to see: the first registration of a phone, and its last end. */
function tell(
  { logger }: Pick<Context, 'logger'>,
  phone: SipPhoneDocument,
  now: { readonly bindings: readonly PhoneBinding[]; readonly nowMs: number },
): void {
  const had = liveBindings(phone.bindings, now.nowMs).length > 0;
  const about = { phoneId: phone._id, extension: phone.extension };
  if (!had && now.bindings.length > 0) logger.info(about, 'a phone has registered');
  if (had && now.bindings.length === 0) logger.info(about, 'a phone has unregistered');
}

function sourceOf({ source_address, source_port, transport, server }: RegisterQuestion): RegisterSource {
  return { address: source_address, port: source_port, transport, server };
}

function answer(status: number, reason: string, headers: readonly Field[] = []): RegisterAnswer {
  return { status, reason, headers: [...headers] };
}
