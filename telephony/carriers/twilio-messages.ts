/**
 * Text messages of Twilio's numbers: requests it makes for received messages and for the fate of sent ones,
 * signed with the account's token, and sending through its Messages API
 * (www.twilio.com/docs/messaging/api/message-resource).
 */
import twilio from 'twilio';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type CarrierMessages, type OutgoingText, XML } from './carrier.ts';
import { type TwilioClient, targetOf } from './twilio-client.ts';
import { type TwilioFailureKind, toFault, toTwilioFailure } from './twilio-failure.ts';
import { isSignedByTwilio, readTwilioForm } from './twilio-signature.ts';

const sid = z.string().regex(/^(SM|MM)[0-9a-f]{32}$/i);
const received = z.object({
  MessageSid: sid,
  From: z.string().max(64),
  To: z.string().max(64),
  Body: z.string().max(16_384).default(''),
  NumMedia: z.coerce.number().int().min(0).catch(0),
  /** Set if Twilio has answered the keyword itself. */
  OptOutType: z.enum(['STOP', 'START', 'HELP']).optional().catch(undefined),
});
const reported = z.object({
  MessageSid: sid,
  MessageStatus: z.string().max(32),
  ErrorCode: z.string().max(16).optional(),
});
const created = z.object({ sid: z.string().min(1) });
const listed = z.array(z.object({ sid: z.string().min(1), body: z.string().nullish() }));

const delivery = z.object({ smsUrl: z.string().nullish(), smsApplicationSid: z.string().nullish() });

/** Without the address: it may contain a secret of the operator. */
const ELSEWHERE =
  'Twilio sends the messages of this number elsewhere: set sms.replace to true to have them sent here';

/** Twilio's words for the fate of a message. */
const FATES: Readonly<Record<string, 'delivered' | 'failed'>> = {
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  failed: 'failed',
};
/** After these nothing was sent. */
const UNSENT: ReadonlySet<TwilioFailureKind> = new Set(['busy', 'unsent']);
const LISTED = 50;

/** Creates the messages of an account. */
export function createTwilioMessages(client: TwilioClient, authToken: string): CarrierMessages {
  return {
    empty: {
      contentType: XML,
      body: new twilio.twiml.MessagingResponse().toString(),
    },
    isSigned: isSignedByTwilio,
    readMessage: (request) => {
      const form = readTwilioForm(authToken, request, received);
      return {
        carrierMessageId: form.MessageSid,
        from: form.From,
        to: form.To,
        text: form.Body,
        hasMedia: form.NumMedia > 0,
        answeredKeyword: form.OptOutType ?? null,
      };
    },
    readStatus: (request) => {
      const { MessageSid, MessageStatus, ErrorCode } = readTwilioForm(authToken, request, reported);
      return {
        carrierMessageId: MessageSid,
        fate: FATES[MessageStatus] ?? null,
        error: ErrorCode === undefined ? null : `Twilio error ${ErrorCode}`,
      };
    },
    deliverTo: async (carrierNumberId, url, { replace }) => {
      const number = client.incomingPhoneNumbers(carrierNumberId);
      const target = await messageTarget(client, carrierNumberId);
      if (target !== null && target !== url && !replace) throw fault('conflict', { detail: ELSEWHERE });
      // An application would take precedence over the URL.
      await ask(() => number.update({ smsUrl: url, smsMethod: 'POST', smsApplicationSid: '' }));
    },
    stopDelivery: async (carrierNumberId, url) => {
      if ((await messageTarget(client, carrierNumberId)) === url)
        await ask(() => client.incomingPhoneNumbers(carrierNumberId).update({ smsUrl: '' }));
    },
    send: (text) => send(client, text),
    findSent: async ({ from, to, text, since }) => {
      const sent = await ask(async () =>
        listed.parse(await client.messages.list({ from, to, dateSentAfter: since, limit: LISTED })),
      );
      const found = sent.find(({ body }) => body === text);
      return found ? { carrierMessageId: found.sid } : null;
    },
  };
}

/** Where messages to a number go: a URL or an application; null if nowhere. */
async function messageTarget(client: TwilioClient, carrierNumberId: string): Promise<string | null> {
  const { smsUrl, smsApplicationSid } = await ask(async () =>
    delivery.parse(await client.incomingPhoneNumbers(carrierNumberId).fetch()),
  );
  return targetOf(smsApplicationSid, smsUrl);
}

async function send(client: TwilioClient, text: OutgoingText) {
  try {
    const { sid: carrierMessageId } = created.parse(
      await client.messages.create({
        from: text.from,
        to: text.to,
        body: text.text,
        statusCallback: text.statusUrl,
      }),
    );
    return { outcome: 'sent', carrierMessageId } as const;
  } catch (error) {
    const { kind, message } = toTwilioFailure(error);
    if (UNSENT.has(kind)) return { outcome: 'unsent', error: message } as const;
    return kind === 'refused'
      ? ({ outcome: 'refused', error: message } as const)
      : ({ outcome: 'unknown', error: message } as const);
  }
}

/** Throws the fault of a failure. */
async function ask<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toFault(toTwilioFailure(error));
  }
}
