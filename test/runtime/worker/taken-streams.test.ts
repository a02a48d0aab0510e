import { expect, it } from 'vitest';
import type { RestOfStream, WorkerMessage } from '#protocol/worker-link.ts';
import { TakenStreams } from '#runtime/worker/taken-streams.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const FORMER = { instance_id: 'former', epoch: 1 };
const REST: RestOfStream = {
  ssrc: 7,
  cname: 'agent',
  sequence: 12,
  timestamp: 1_920,
  clock_hz: 8_000,
  packets: 11,
  bytes: 1_760,
  due_in_ms: 15,
};

/** The streams of a worker, and the messages that it has sent. */
function openStreams() {
  const clock = new ManualClock();
  const sent: WorkerMessage[] = [];
  const streams = new TakenStreams({ clock, client: { send: (message) => sent.push(message) } });
  const answer = (session_id: string, epoch: number, stream: RestOfStream | null) =>
    streams.answered({ type: 'stream', session_id, epoch, stream });
  return { clock, sent, streams, answer };
}

it('a worker asks the former one for a stream, and goes on when its next packet is due', async () => {
  const { clock, sent, streams, answer } = openStreams();
  const taken = streams.take({ sessionId: 'call', epoch: 2 }, FORMER);
  expect(sent).toEqual([{ type: 'take_stream', session_id: 'call', epoch: 2, former: FORMER }]);
  await clock.advance(100);
  answer('call', 2, REST);
  const { clock_hz: clockHz, due_in_ms: dueInMs, ...numbers } = REST;
  expect(await taken).toEqual({ ...numbers, clockHz, dueMs: clock.now() + dueInMs });
});

it('a former worker that does not answer within a second, or sends nothing, leaves no stream', async () => {
  const { clock, streams, answer } = openStreams();
  const silent = streams.take({ sessionId: 'call', epoch: 2 }, FORMER);
  const sendsNone = streams.take({ sessionId: 'other', epoch: 2 }, FORMER);
  answer('other', 2, null);
  expect(await sendsNone).toBeNull();
  await clock.advance(1_000);
  expect(await silent).toBeNull();
});

it('an answer for another call, or for an earlier move of the same one, is ignored', async () => {
  const { clock, streams, answer } = openStreams();
  const late = streams.take({ sessionId: 'call', epoch: 2 }, FORMER);
  await clock.advance(1_000);
  expect(await late).toBeNull();
  const next = streams.take({ sessionId: 'call', epoch: 3 }, { instance_id: 'second', epoch: 2 });
  answer('call', 2, { ...REST, ssrc: 1 });
  answer('other', 3, { ...REST, ssrc: 2 });
  answer('call', 3, REST);
  expect((await next)?.ssrc).toBe(REST.ssrc);
});
