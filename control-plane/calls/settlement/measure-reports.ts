/** Counts what workers report about their calls, once for each report that was stored. */
import { OTHER } from '#base/meters.ts';
import { vendorOfEngine } from '#config/vendor-labels.ts';
import type { TurnLatency, TurnSilence } from '#protocol/session-record.ts';
import type { DurableReport, ReportEnvelope, TurnEngines } from '#protocol/worker-link.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionHead } from '../../platform/store/models/session-model.ts';

type Parts = Pick<Context, 'metrics' | 'tracing'>;

/** Counts reports of a session that have just been stored. */
export function measureReports(
  context: Parts,
  session: Pick<SessionHead, '_id' | 'channel'>,
  envelopes: readonly Pick<ReportEnvelope, 'report'>[],
): void {
  const traceId = context.tracing === null ? null : session._id;
  for (const { report } of envelopes) measure(context.metrics, report, { channel: session.channel, traceId });
}

interface Call {
  readonly channel: string;
  /** Null if the call is not traced. */
  readonly traceId: string | null;
}

function measure(metrics: Context['metrics'], report: DurableReport, call: Call): void {
  if (report.type === 'turn') measureTurn(metrics, report, call);
  else if (report.type === 'silence') measureSilence(metrics, report.silence, call);
  else if (report.type === 'dial') metrics.dials.inc({ status: report.dial_status });
}

/** Parts of a turn that are not measured in vendors' work are Parley's own. */
const PARTS = [
  ['endpoint', 'endpoint_ms', null],
  ['transcript', 'transcript_ms', 'recognition'],
  ['first_token', 'first_token_ms', 'model'],
  ['first_sentence', 'first_sentence_ms', 'model'],
  ['first_audio', 'first_audio_ms', 'synthesis'],
  ['playout', 'playout_ms', null],
] as const satisfies readonly (readonly [string, keyof TurnLatency, keyof TurnEngines | null])[];

function measureTurn(
  { turns, turnParts }: Context['metrics'],
  { latency, engines }: Extract<DurableReport, { type: 'turn' }>,
  { channel, traceId }: Call,
): void {
  turns.observe({ channel }, latency.total_ms / 1000, traceId);
  for (const [part, field, service] of PARTS) {
    const engine = service && (engines?.[service] ?? OTHER);
    const vendor = engine === null ? 'parley' : vendorOfEngine(engine);
    turnParts.observe({ part, vendor }, latency[field] / 1000, traceId);
  }
}

function measureSilence(
  { silences }: Context['metrics'],
  { causes, duration_ms: durationMs, ended_by }: TurnSilence,
  { traceId }: Call,
): void {
  const [longest] = causes.toSorted((a, b) => b.ms - a.ms);
  silences.observe({ cause: longest?.cause ?? OTHER, ended_by }, durationMs / 1000, traceId);
}
