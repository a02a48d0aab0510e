/**
 * Traces by OpenTelemetry. Every span here is recorded when it is over, so nothing is carried through the
 * code while it runs. The SDK is loaded where an OTLP endpoint is set, and nowhere else.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from './env.ts';

/** A piece of work that is over. */
export interface FinishedSpan {
  readonly name: string;
  /** `server` answered somebody, `client` asked somebody; `internal` unless told. */
  readonly kind?: 'server' | 'client' | 'internal';
  /** Wall time, ms. */
  readonly startMs: number;
  readonly endMs: number;
  /**
   * The span it is part of, as a `traceparent` (W3C Trace Context); without a well-formed one it begins a
   * trace.
   */
  readonly parent?: string | null;
  /** Its own place in its trace, as a `traceparent`, where others had to know it before. */
  readonly as?: string;
  /** Traces it had to do with. */
  readonly links?: readonly string[];
  /** Never personal data; what is null is left out. */
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>>;
  /** Why it failed. */
  readonly error?: string | null;
}

/** Sends spans to whoever collects them. */
export interface Tracing {
  /** Records a span; returns its `traceparent`, for the spans that are part of it. */
  record(span: FinishedSpan): string;
  /** Sends what is left. */
  close(): Promise<void>;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;
/** How long a span waits for others to be sent with it. */
const SEND_EVERY_MS = 1_000;
/** The end of the program does not wait longer for a collector that does not answer. */
const CLOSE_WITHIN_MS = 2_000;

/**
 * The root of a call's trace: the trace has the id of the session, so whoever has the one finds the other.
 */
export function callTraceparent(sessionId: string): string {
  return `00-${sessionId}-${sessionId.slice(0, 16)}-01`;
}

/** Begins to send spans for one process; null where no endpoint is set. */
export async function openTracing(
  settings: Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  /** `instance` tells processes of one part apart. */
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
  // What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say goes before what we say ourselves.
  const told = resources.detectResources({ detectors: [resources.envDetector] });
  const chosen: { traceId: string | null; spanId: string | null } = { traceId: null, spanId: null };
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(named).merge(told),
    // Address, headers, compression and the rest are the exporter's to read from the OTEL_ variables.
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: SEND_EVERY_MS }),
    ],
    idGenerator: {
      generateTraceId: () => chosen.traceId ?? randomBytes(16).toString('hex'),
      generateSpanId: () => chosen.spanId ?? randomBytes(8).toString('hex'),
    },
  });
  let isToldOfTrouble = false;
  const tell = (message: string) => {
    if (!isToldOfTrouble)
      logger.warn({ cause: message.slice(0, 300) }, 'traces could not be sent; told once');
    isToldOfTrouble = true;
  };
  const ignore = () => undefined;
  api.diag.setLogger(
    { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: api.DiagLogLevel.WARN },
  );
  const tracer = provider.getTracer('parley');
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL };

  return {
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
      // Starting a span is one synchronous step: nobody else can ask for an id in between.
      Object.assign(chosen, { traceId: own?.traceId ?? null, spanId: own?.spanId ?? null });
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: startMs,
          root: above === null,
          links: links.map(contextOf).flatMap((context) => (context ? [{ context }] : [])),
          attributes: Object.fromEntries(
            Object.entries(attributes).filter(
              (entry): entry is [string, string | number | boolean] => entry[1] !== null,
            ),
          ),
        },
        above ? api.trace.setSpanContext(api.ROOT_CONTEXT, { ...above, isRemote: true }) : api.ROOT_CONTEXT,
      );
      if (error !== null) span.setStatus({ code: api.SpanStatusCode.ERROR, message: error });
      span.end(Math.max(startMs, endMs));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    },
    async close() {
      const limit = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => undefined),
        clock.sleep(CLOSE_WITHIN_MS, limit.signal).catch(() => undefined),
      ]);
      limit.abort();
    },
  };
}

function contextOf(traceparent: string): { traceId: string; spanId: string; traceFlags: number } | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  return traceId !== undefined && spanId !== undefined
    ? { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16) & SAMPLED }
    : null;
}
