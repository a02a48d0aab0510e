import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import { callTraceparent, openTracing, type Tracing } from '#config/tracing.ts';
import { type OtlpReceiver, openOtlpReceiver, type ReceivedSpan } from '#test/fakes/otlp-receiver.ts';

const deps = { clock: systemClock, logger: createLogger({ level: 'silent', name: 'test' }) };
const part = { name: 'worker', instance: 'w1' };
const SESSION = '0123456789abcdef0123456789abcdef';
const span = (name: string) => ({ name, startMs: 1_700_000_000_000, endMs: 1_700_000_000_250 });

let receiver: OtlpReceiver;
const endpoint = process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];

beforeAll(async () => {
  receiver = await openOtlpReceiver();
  // The exporter reads this variable of the OpenTelemetry specification.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = receiver.url;
});
afterAll(async () => {
  if (endpoint === undefined) delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  else process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint;
  await receiver.close();
});

/** Records with a separate tracing instance and returns the spans that the collector received. */
async function received(record: (tracing: Tracing) => void): Promise<ReceivedSpan[]> {
  const tracing = await openTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, part, deps);
  if (!tracing) throw new Error('no tracing');
  receiver.spans.length = 0;
  record(tracing);
  await tracing.close();
  return [...receiver.spans];
}

describe('tracing', () => {
  it('is disabled without an endpoint', async () => {
    expect(await openTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: undefined }, part, deps)).toBeNull();
  });

  it('has content only if the operator wants it in spans', async () => {
    const hasContent = async (capture?: Settings['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']) => {
      const settings = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...(capture && { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: capture }),
      };
      const tracing = await openTracing(settings, part, deps);
      await tracing?.close();
      return tracing?.hasContent;
    };
    expect([await hasContent(), await hasContent('NO_CONTENT'), await hasContent('EVENT_ONLY')]).toEqual([
      false,
      false,
      false,
    ]);
    expect([await hasContent('SPAN_ONLY'), await hasContent('SPAN_AND_EVENT')]).toEqual([true, true]);
  });

  it('sends the complete span, under the name of its part of the product', async () => {
    const [sent] = await received((tracing) =>
      tracing.record({
        ...span('work'),
        kind: 'client',
        attributes: { a: 'text', b: 2.5, c: true, d: null, e: ['one', 'two'] },
        error: 'it failed',
      }),
    );
    expect(sent).toMatchObject({
      service: 'parley-worker',
      name: 'work',
      kind: 3,
      parentId: null,
      status: 2,
      attributes: { a: 'text', b: 2.5, c: true, e: ['one', 'two'] },
    });
    expect(sent?.attributes).not.toHaveProperty('d');
    expect([sent?.startMs, sent?.endMs]).toEqual([1_700_000_000_000, 1_700_000_000_250]);
  });

  it('gives a call’s trace the id of its session, whichever process records first', async () => {
    const spans = await received((tracing) => {
      const turn = tracing.record({ ...span('turn'), parent: callTraceparent(SESSION) });
      tracing.record({ ...span('part'), parent: turn });
      tracing.record({ ...span('request'), links: [callTraceparent(SESSION)] });
      tracing.record({ ...span('session'), as: callTraceparent(SESSION) });
    });
    const [turn, inner, request, session] = spans;
    expect(session).toMatchObject({ traceId: SESSION, spanId: SESSION.slice(0, 16), parentId: null });
    expect(turn).toMatchObject({ traceId: SESSION, parentId: session?.spanId });
    expect(inner).toMatchObject({ traceId: SESSION, parentId: turn?.spanId });
    expect(request?.links).toEqual([SESSION]);
    expect(request?.traceId).not.toBe(SESSION);
  });

  it('accepts a client’s trace context only if it is well-formed', async () => {
    const client = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01';
    const malformed = ['', 'x', `${client}0`, client.replace(/a/g, '0'), client.toUpperCase(), `${client}\n`];
    const [joined, ...alone] = await received((tracing) => {
      for (const parent of [client, ...malformed]) tracing.record({ ...span('request'), parent });
    });
    expect(joined).toMatchObject({ traceId: 'a'.repeat(32), parentId: 'b'.repeat(16) });
    expect(alone.map(({ parentId }) => parentId)).toEqual(malformed.map(() => null));
  });
});
