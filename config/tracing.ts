/**
 * Tracing with OpenTelemetry. Every span is recorded after its work has ended, so no tracing context is
 * passed through the code. The SDK is loaded only if an OTLP endpoint is set.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from './env.ts';
import { capturesInSpans } from './gen-ai.ts';

/** Attributes of a span. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[] | null>>;

/** A completed piece of work. */
export interface FinishedSpan {
  readonly name: string;
  /** `server` answered a request, `client` sent one; default `internal`. */
  readonly kind?: 'server' | 'client' | 'internal';
  /** Wall-clock time, ms. */
  readonly startMs: number;
  readonly endMs: number;
  /** The parent span, as a `traceparent` (W3C Trace Context); without a valid one the span begins a trace. */
  readonly parent?: string | null;
  /** The span's own `traceparent`, if it was handed out before the span was recorded. */
  readonly as?: string;
  /** Linked traces. */
  readonly links?: readonly string[];
  /** Never personal data, unless the tracing `hasContent`; null values are omitted. */
  readonly attributes?: SpanAttributes;
  /** The error, if it failed; never personal data. */
  readonly error?: string | null;
}

/** Sends spans to a collector. */
export interface Tracing {
  /** Whether the operator wants spans to contain what was said, tool calls and prompts. */
  readonly hasContent: boolean;
  /** Records a span; returns its `traceparent`, for child spans. */
  record(span: FinishedSpan): string;
  /** Sends the remaining spans and stops tracing. */
  close(): Promise<void>;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;
/** How long a span waits to be sent in a batch. */
const SEND_EVERY_MS = 1_000;
/** Maximum wait at exit for a collector that does not answer. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Root of a call's trace. The trace id is the session's id, so that each leads to the other. */
export function callTraceparent(sessionId: string): string {
  return `00-${sessionId}-${sessionId.slice(0, 16)}-01`;
}

/** Starts tracing for one process; null if no endpoint is set. */
export async function openTracing(
  settings: Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT'> &
    Partial<Pick<Settings, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'>>,
  /** `instance` distinguishes processes with the same role. */
  part: { readonly name: string; readonly instance: string },
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Tracing | null> {
  if (settings.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return null;
  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
  ]);
  const named = resources.resourceFromAttributes({
    'service.name': `parley-${part.name}`,
    'service.instance.id': part.instance,
  });
  // OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence over our values.
  const fromEnvironment = resources.detectResources({ detectors: [resources.envDetector] });
  const chosen: { traceId: string | null; spanId: string | null } = { traceId: null, spanId: null };
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(named).merge(fromEnvironment),
    // The exporter reads address, headers, compression and the rest from the OTEL_ variables.
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: SEND_EVERY_MS }),
    ],
    idGenerator: {
      generateTraceId: () => chosen.traceId ?? randomBytes(16).toString('hex'),
      generateSpanId: () => chosen.spanId ?? randomBytes(8).toString('hex'),
    },
  });
  logFirstFailure(api, logger);
  const tracer = provider.getTracer('parley');
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL };

  return {
    hasContent: capturesInSpans(settings.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT),
    record({
      name,
      kind = 'internal',
      startMs,
      endMs,
      parent,
      as,
      links = [],
      attributes = {},
      error = null,
    }) {
      const above = parent ? contextOf(parent) : null;
      const own = as === undefined ? null : contextOf(as);
      // Starting a span is synchronous: no other code can request an id in between.
      Object.assign(chosen, { traceId: own?.traceId ?? null, spanId: own?.spanId ?? null });
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: startMs,
          root: above === null,
          links: links.map(contextOf).flatMap((context) => (context ? [{ context }] : [])),
          attributes: withoutNulls(attributes),
        },
        above ? api.trace.setSpanContext(api.ROOT_CONTEXT, { ...above, isRemote: true }) : api.ROOT_CONTEXT,
      );
      if (error !== null) span.setStatus({ code: api.SpanStatusCode.ERROR, message: error });
      span.end(Math.max(startMs, endMs));
      return traceparentOf(span.spanContext());
    },
    close: () => within(CLOSE_TIMEOUT_MS, clock, provider.shutdown()),
  };
}

function contextOf(traceparent: string): { traceId: string; spanId: string; traceFlags: number } | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  return traceId !== undefined && spanId !== undefined
    ? { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16) & SAMPLED }
    : null;
}

function traceparentOf({ traceId, spanId, traceFlags }: import('@opentelemetry/api').SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function withoutNulls<Value>(values: Readonly<Record<string, Value | null>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, Value] => entry[1] !== null),
  );
}

/** Waits for `work` for at most `ms`; ignores its errors. */
async function within(ms: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work.catch(() => undefined), clock.sleep(ms, limit.signal).catch(() => undefined)]);
  limit.abort();
}

/** Logs the first error of the SDK, such as a collector that does not answer. */
function logFirstFailure(api: typeof import('@opentelemetry/api'), logger: Logger): void {
  let hasWarned = false;
  const warnOnce = (message: string) => {
    if (!hasWarned)
      logger.warn({ cause: message.slice(0, 300) }, 'failed to send traces; further failures are not logged');
    hasWarned = true;
  };
  const ignore = () => undefined;
  api.diag.setLogger(
    { error: warnOnce, warn: warnOnce, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: api.DiagLogLevel.WARN },
  );
}
