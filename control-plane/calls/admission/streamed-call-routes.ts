/**
 * Calls to numbers whose calls come as media streams: the vendor asks what to do with each, signed with the
 * secret of the number's account, and is told to connect to this control plane, or that the number is busy.
 * One that asks again, because the answer was lost, is told the same.
 */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { networkOf } from '#base/client-network.ts';
import { type Fault, fault } from '#config/errors.ts';
import type { StreamVendor } from '#protocol/media-streams.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { VOICE_PATH } from '#telephony/carriers/carrier.ts';
import type { StreamAnswer, StreamedCall } from '#telephony/carriers/stream-carrier.ts';
import { streamCarrier } from '#telephony/carriers/stream-carriers.ts';
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { loadSessionHead } from '../sessions/session-store.ts';
import { streamAddress } from '../streams/stream-ticket.ts';
import { admitStreamedCall } from './admit-call.ts';
import { callIdHeader } from './plan-inbound-call.ts';

const MAX_BYTES = 64 * 1_024;
/** Time in which a vendor that asks again, or somebody who copies its request, places no second call. */
const ONCE_MS = 24 * 60 * 60_000;
/** How long a repeated question waits for the first one to place the call. */
const PLACING_MS = 2_000;
const LOOK_EVERY_MS = 200;
const BUSY = 486;

/** Registers the route. Its requests have no API key but are signed by the vendor. */
export async function registerStreamedCallRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    scope.removeContentTypeParser('application/json');
    // As sent: signatures cover it.
    scope.addContentTypeParser(
      ['application/json', 'application/x-www-form-urlencoded'],
      { parseAs: 'string', bodyLimit: MAX_BYTES },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.post(
      `${VOICE_PATH}/:phone_number_id`,
      {
        config: { access: 'none' },
        bodyLimit: MAX_BYTES,
        schema: {
          hide: true,
          params: z.object({ phone_number_id: z.string().max(64) }),
          body: z.string(),
        },
      },
      async (request, reply) => {
        const answered = await answerTo(context, request, request.params.phone_number_id);
        if (!answered) {
          await context.refusals.throttleCall(networkOf(request.ip));
          throw fault('callback_not_genuine');
        }
        return reply.type(answered.contentType).send(answered.body);
      },
    );
    done();
  });
}

/** The answer for the vendor; null if it is not the vendor of this number. */
async function answerTo(
  context: Context,
  request: FastifyRequest,
  numberId: string,
): Promise<StreamAnswer | null> {
  const number = await context.models.numbers
    .findOne({ _id: numberId, status: 'active' })
    .lean<NumberDocument>();
  if (!number?.media_stream) return null;
  const { vendor, account, secret } = number.media_stream;
  const carrier = await streamCarrier(vendor);
  if (!carrier.isSigned(request.headers)) return null;
  const call = await carrier.read(
    { account, secret: context.secretBox.open(secret) },
    {
      url: `${context.publicAddress.url}${request.url}`,
      headers: request.headers,
      body: String(request.body),
      atMs: context.clock.wallTime(),
    },
  );
  const sessionId = sessionIdOf(number, call);
  const connect = () => carrier.connect(streamAddress(context, sessionId));
  if (!(await context.coordination.claim(`streamed-call:${sessionId}`, ONCE_MS)))
    return (await awaitsStream(context, sessionId)) ? connect() : carrier.reject('rejected');
  const refused = await admit(context, { number, vendor, call, sessionId, ip: request.ip });
  if (!refused) return connect();
  return carrier.reject(refused.sipStatus === BUSY ? 'busy' : 'rejected');
}

/** The same for every question about a call; no other number's calls have it. */
function sessionIdOf({ _id }: NumberDocument, { callId }: StreamedCall): string {
  return createHash('sha256').update(`${_id}:${callId}`).digest('hex').slice(0, 32);
}

/** Whether the call was placed and its stream has not come. */
async function awaitsStream(context: Context, sessionId: string): Promise<boolean> {
  const { clock } = context;
  const lastMs = clock.now() + PLACING_MS;
  for (;;) {
    const status = (await loadSessionHead(context, sessionId))?.status ?? 'creating';
    if (status !== 'creating' || clock.now() >= lastMs) return status === 'pending';
    await clock.sleep(LOOK_EVERY_MS);
  }
}

interface AskedCall {
  readonly number: NumberDocument;
  readonly vendor: StreamVendor;
  readonly call: StreamedCall;
  readonly sessionId: string;
  readonly ip: string;
}

/** Places the call; why not, if it is refused. */
function admit(context: Context, { number, vendor, call, sessionId, ip }: AskedCall): Promise<Fault | null> {
  const request: AdmissionRequest = {
    call_id: call.callId,
    from_user: call.callerNumber,
    to_user: number.phone_number,
    source_address: ip,
    source_port: 0,
    transport: 'tls',
    headers: { [callIdHeader(vendor)]: call.callId },
  };
  return admitStreamedCall(context, number, { vendor, request, sessionId });
}
