/** The `webhooks` section of `/openapi.json`, generated from the schemas that payloads are built with. */
import { z } from 'zod';
import {
  inboundCallEvent,
  SIGNATURE_HEADER,
  scorecardWebhookEvent,
  shareWebhookEvent,
  textWebhookEvent,
  webhookEvent,
} from '#protocol/webhook-events.ts';
import { exampleOf, type JsonSchema } from './example-of.ts';
import { addWebhookTexts } from './reference/reference-texts.ts';

/** The answer to `call.inbound`. */
const inboundCallAnswer = z.object({
  dynamic_variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

const SIGNATURE = {
  name: SIGNATURE_HEADER,
  in: 'header',
  required: false,
  description:
    't=<Unix time in seconds>,v1=<lowercase hex HMAC-SHA256 of "<t>." and the raw body>. ' +
    'Sent if the endpoint has a secret.',
  schema: { type: 'string' },
} as const;

const DELIVERED = {
  '2XX': {
    description: 'Delivered. Any other status, or none within 10 s, is a failed attempt; three are made.',
  },
};

/** Every webhook as an OpenAPI path item, by event. */
export function describedWebhooks(): Record<string, object> {
  const events = [
    ...webhookEvent.options,
    ...textWebhookEvent.options,
    shareWebhookEvent,
    scorecardWebhookEvent,
  ].map((event) => [event.shape.event.value, pathItem(event, DELIVERED)]);
  const answer = {
    description: 'Variables for the prompt and the first message. After any other answer the call has none.',
    content: jsonContent(inboundCallAnswer, { dynamic_variables: { name: 'Ada', is_member: true } }),
  };
  const webhooks = Object.fromEntries([
    ...events,
    [inboundCallEvent.shape.event.value, pathItem(inboundCallEvent, { '2XX': answer })],
  ]);
  addWebhookTexts(webhooks);
  return webhooks;
}

function pathItem(event: z.ZodType, responses: object): object {
  return {
    post: {
      summary: event.description,
      security: [],
      parameters: [SIGNATURE],
      requestBody: { required: true, content: jsonContent(event) },
      responses,
    },
  };
}

function jsonContent(type: z.ZodType, example?: object): object {
  // The input form allows further fields: payloads may gain some.
  const schema = z.toJSONSchema(type, { io: 'input' }) as JsonSchema;
  return { 'application/json': { schema, example: example ?? exampleOf(schema) } };
}
