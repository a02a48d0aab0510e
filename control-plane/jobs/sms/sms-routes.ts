/**
 * Text messages from the carrier: received ones are stored before they are acknowledged, under the carrier's
 * id, so that a repetition changes nothing. The answer is sent later, through the carrier's API: a model
 * takes longer than a carrier waits.
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import {
  type CarrierMessages,
  type CarrierRequest,
  MESSAGE_PATH,
  MESSAGE_STATUS_PATH,
  type ReceivedText,
} from '#telephony/carriers/carrier.ts';
import { isE164 } from '#telephony/e164.ts';
import { findCalledNumbers } from '../../catalogue/numbers/number-store.ts';
import { type Context, now } from '../../platform/context.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';

const MAX_BYTES = 64 * 1_024;
const SEALED_FOR = 'sms';

/** Registers the routes. Their requests have no API key but are signed by the carrier. */
export async function registerSmsRoutes(app: ApiServer, context: Context): Promise<void> {
  const { messages } = context.carrier;
  if (!messages) return;
  const isSigned = async (request: FastifyRequest) => {
    if (!messages.isSigned(request.headers)) throw fault('callback_not_genuine');
  };
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    acceptBodies(scope, { kinds: ['urlencoded'], json: false, mostBytes: MAX_BYTES });
    const schema = { hide: true, body: z.record(z.string(), z.unknown()) };
    scope.post(
      MESSAGE_PATH,
      { config: { access: 'none' }, schema, onRequest: isSigned },
      async (request, reply) => {
        await receive(context, messages.readMessage(carrierRequest(context, request, request.body)));
        return reply.type(messages.empty.contentType).send(messages.empty.body);
      },
    );
    scope.post(
      MESSAGE_STATUS_PATH,
      { config: { access: 'none' }, schema, onRequest: isSigned },
      async (request, reply) => {
        await noteFate(context, messages, carrierRequest(context, request, request.body));
        return reply.code(204).send();
      },
    );
    done();
  });
}

function carrierRequest(
  { publicAddress }: Context,
  { url, headers }: FastifyRequest,
  form: Record<string, unknown>,
): CarrierRequest {
  return { url: `${publicAddress.url}${url}`, headers, form };
}

/**
 * Stores a person's message to a number with an agent for messages; any other is dropped and logged. Short
 * codes belong to machines.
 */
async function receive(context: Context, message: ReceivedText): Promise<void> {
  const [number] = await findCalledNumbers(context, message.to);
  if (!number?.sms || !isE164(message.from)) {
    context.logger.warn(
      { carrierMessageId: message.carrierMessageId },
      'dropped a text message: its number has no agent for messages, or it is from no telephone number',
    );
    return;
  }
  const at = now(context);
  try {
    await insertDocument(context.models.smsMessages, {
      _id: message.carrierMessageId,
      direction: 'in',
      number_id: number._id,
      team_id: number.team_id,
      person: message.from,
      state: 'received',
      state_at: at,
      created_at: at,
      text: context.secretBox.seal(textOf(message), SEALED_FOR),
      answered_keyword: message.answeredKeyword,
      carrier_id: null,
      attempts: 0,
      note: '',
      session_id: null,
    });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  context.workSignals.notify('sms');
}

/** The agent learns of files that it cannot see. */
function textOf({ text, hasMedia }: ReceivedText): string {
  return hasMedia ? `${text} [with a picture or another file, which you cannot see]`.trim() : text;
}

async function noteFate(context: Context, messages: CarrierMessages, request: CarrierRequest): Promise<void> {
  const { carrierMessageId, fate, error } = messages.readStatus(request);
  if (fate === null) return;
  const { modifiedCount } = await context.models.smsMessages.updateOne(
    { carrier_id: carrierMessageId, state: { $in: ['sending', 'sent'] } },
    { $set: { state: fate, state_at: now(context), note: error ?? '' } },
  );
  if (modifiedCount > 0) context.metrics.smsMessages.inc({ outcome: fate });
}
