/**
 * Measures how far a call's recording is off its clock: compares the start of each sound on the wire, from
 * the caller and the agent, with its start in the recording. The wire is a packet capture of this machine,
 * whose wall clock timestamps both. The position of a sound follows the RTP timestamps of its stream, as
 * after a jitter buffer: a late packet is a pacing fault, not a recording fault.
 */

import type { CallRecord } from '#caller/caller.ts';
import { startCapture } from '#caller/capture.ts';
import { clockOf } from '#caller/measure.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { PAYLOAD_PCMU, parseRtp, samplesOf, VOICED_PEAK } from '#caller/rtp.ts';
import { prepareScene } from '#caller/scene.ts';
import { parseWav } from '#caller/wav.ts';
import type { Product } from '#test/journeys/product.ts';
import { HEARD_LINE } from './stand-ins.ts';

/** Sound after at least this much silence counts as a new sound. */
const QUIET_MS = 200;
/** Search range around the expected position of a sound; shorter than the silence before it. */
const SEARCH_MS = 150;
const PORTS = { first: 42_400, last: 42_499 };
const SAMPLES_PER_MS = 8;

/** Track of a sound and its start on the wire, ms since 1970. */
interface Sound {
  readonly role: 'user' | 'agent';
  readonly atMs: number;
}

interface Track {
  readonly role: string;
  readonly url: string;
  readonly started_at: string;
  readonly gaps: readonly { readonly start_ms: number; readonly duration_ms: number }[];
}

/**
 * Places this many concurrent calls of two turns. Returns the offset of each sound, ms; infinite for a sound
 * missing from the recording.
 */
export async function measureRecordings(
  product: Product,
  load: { readonly calls: number; readonly number: string },
): Promise<number[]> {
  const capture = await startCapture(PORTS);
  const caller = new PhoneCaller({ ports: PORTS });
  const listen = { do: 'listen', quiet_ms: 500, timeout_ms: 6_000 } as const;
  const say = { do: 'say', text: HEARD_LINE } as const;
  const records = await Promise.all(
    Array.from({ length: load.calls }, (_, index) =>
      caller.call({
        target: product.sipAddress(load.number),
        scene: prepareScene({
          name: `recorded ${index}`,
          seed: index + 1,
          steps: [listen, { do: 'pause', ms: [50, 350] }, say, listen, say, listen],
        }),
      }),
    ),
  );
  return recordingOffsetsMs(product, await capture.stop(), records);
}

/**
 * Offset of each sound of these finished calls from its place in their recordings, ms. Sounds in a gap of the
 * recording are excluded.
 */
export async function recordingOffsetsMs(
  product: Product,
  datagrams: readonly CapturedDatagram[],
  records: readonly CallRecord[],
): Promise<number[]> {
  const offsets: number[] = [];
  for (const record of records) {
    if (record.outcome.type !== 'answered') continue;
    const { sessions } = await product.ask(
      'GET',
      `/v1/agent/sessions?sip_call_id=${encodeURIComponent(record.callId)}`,
    );
    const path = `/v1/agent/sessions/${sessions[0]?.session_id}/recording`;
    await product.until(
      'the recording is complete',
      async () => (await product.ask('GET', path)).status === 'complete',
    );
    const tracks: Track[] = (await product.ask('GET', path)).tracks;
    const { media } = record.ports;
    const sounds = [
      ...soundsOf(
        'user',
        datagrams.filter(({ sourcePort }) => sourcePort === media),
      ),
      ...soundsOf(
        'agent',
        datagrams.filter(({ destinationPort }) => destinationPort === media),
      ),
    ];
    for (const track of tracks)
      offsets.push(
        ...(await offsetsIn(
          track,
          sounds.filter(({ role }) => role === track.role),
        )),
      );
  }
  return offsets;
}

async function offsetsIn(track: Track, sounds: readonly Sound[]): Promise<number[]> {
  const { samples, rateHz } = parseWav(Buffer.from(await (await fetch(track.url)).arrayBuffer()));
  const startMs = Date.parse(track.started_at);
  return sounds.flatMap(({ atMs }) => {
    const placeMs = atMs - startMs;
    const isInGap = track.gaps.some(
      (gap) => placeMs > gap.start_ms - SEARCH_MS && placeMs < gap.start_ms + gap.duration_ms + SEARCH_MS,
    );
    if (isInGap) return [];
    const from = Math.max(0, Math.round(((placeMs - SEARCH_MS) * rateHz) / 1_000));
    const around = samples.subarray(from, Math.round(((placeMs + SEARCH_MS) * rateHz) / 1_000));
    const found = around.findIndex((sample) => Math.abs(sample) >= VOICED_PEAK);
    return [found < 0 ? Number.POSITIVE_INFINITY : ((from + found) * 1_000) / rateHz - placeMs];
  });
}

/** Sounds of one direction of a call. A worker that took over a call sends its own stream. */
export function soundsOf(role: Sound['role'], datagrams: readonly CapturedDatagram[]): Sound[] {
  const packets = datagrams.flatMap(({ atMs, payload }) => {
    const packet = parseRtp(payload);
    return packet?.payloadType === PAYLOAD_PCMU ? [{ ...packet, atMs }] : [];
  });
  const clocks = new Map(
    [...Map.groupBy(packets, ({ ssrc }) => ssrc)].map(([ssrc, stream]) => [ssrc, clockOf(stream)]),
  );
  const sounds: Sound[] = [];
  let quietSinceMs = Number.NEGATIVE_INFINITY;
  for (const { ssrc, timestamp, payload, atMs: arrivedMs } of packets) {
    const samples = samplesOf(payload);
    const first = samples.findIndex((sample) => Math.abs(sample) >= VOICED_PEAK);
    if (first < 0) continue;
    const atMs = clocks.get(ssrc)?.(timestamp) ?? arrivedMs;
    if (atMs - quietSinceMs > QUIET_MS) sounds.push({ role, atMs: atMs + first / SAMPLES_PER_MS });
    quietSinceMs = atMs + samples.length / SAMPLES_PER_MS;
  }
  return sounds;
}
