import { describe, expect, it } from 'vitest';
import { encodeBlock } from '#caller/g711.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { PAYLOAD_PCMU, writeRtp } from '#caller/rtp.ts';
import { gapsOf, heardCalls } from './disturbances.ts';

const PORTS = { first: 30_000, last: 30_999 };
const [PHONE, AGENT] = [30_002, 40_000];
const PACKET_MS = 20;
const SPAN = { fromMs: 0, untilMs: 60_000 };

/** Packets of one side, in a stretch of time. */
function stretch(
  from: 'agent' | 'phone',
  fromMs: number,
  untilMs: number,
  isVoice: boolean,
): CapturedDatagram[] {
  const payload = encodeBlock(new Int16Array(160).fill(isVoice ? 5_000 : 0));
  const [sourcePort, destinationPort] = from === 'agent' ? [AGENT, PHONE] : [PHONE, AGENT];
  return Array.from({ length: Math.round((untilMs - fromMs) / PACKET_MS) }, (_, index) => ({
    ...{ atMs: fromMs + PACKET_MS * index, sourcePort, destinationPort },
    payload: writeRtp({
      ...{ payloadType: PAYLOAD_PCMU, marker: false, sequence: index, timestamp: 160 * index, ssrc: 1 },
      payload,
    }),
  }));
}

function gaps(datagrams: readonly CapturedDatagram[]): number[] {
  const inOrder = datagrams.toSorted((one, other) => one.atMs - other.atMs);
  return heardCalls(inOrder, PORTS, SPAN).flatMap((call) => gapsOf(call, SPAN).map(({ ms }) => ms));
}

const QUESTION = stretch('phone', 10_000, 12_000, true);
const ANSWER = stretch('agent', 12_600, 14_600, true);

describe('what a caller noticed', () => {
  it('is nothing if the agent’s packets go on and the question is answered', () => {
    const agent = [
      ...stretch('agent', 0, 12_600, false),
      ...ANSWER,
      ...stretch('agent', 14_600, 60_000, false),
    ];
    expect(gaps([...QUESTION, ...agent])).toEqual([]);
  });

  it('is the time from the last packet to the next voice if the packets stop', () => {
    const agent = [
      ...[...stretch('agent', 0, 12_600, false), ...ANSWER, ...stretch('agent', 14_600, 20_000, false)],
      ...[...stretch('agent', 26_000, 27_000, false), ...stretch('agent', 27_000, 60_000, true)],
    ];
    expect(gaps([...QUESTION, ...agent])).toEqual([7_020]);
  });

  it('is the time to the answer if a question is answered late', () => {
    const agent = [
      ...stretch('agent', 0, 17_000, false),
      ...stretch('agent', 17_000, 18_000, true),
      ...stretch('agent', 18_000, 60_000, false),
    ];
    expect(gaps([...QUESTION, ...agent])).toEqual([5_020]);
  });

  it('is for ever if the agent falls silent for good', () => {
    expect(gaps([...QUESTION, ...stretch('agent', 0, 12_600, false), ...ANSWER])).toEqual([
      Number.POSITIVE_INFINITY,
    ]);
  });
});
