/** The traces and the flight logs of the calls of a worker's jobs. */
import { describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { FinishedSpan } from '#config/tracing.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { Piece } from '#runtime/link/uploads.ts';
import { JobCalls, type JobCallsDeps } from '#runtime/worker/job-calls.ts';
import { JobTable } from '#runtime/worker/job-table.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { testPlan, WEB } from '../test-plan.ts';

const ROOT = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';

it('a call that another worker takes has its turns so far in its trace', async () => {
  const clock = new ManualClock();
  const spans: FinishedSpan[] = [];
  const jobs = new JobTable(clock);
  const calls = new JobCalls(depsOf(clock, jobs, spans));
  const job = jobs.reserve({ sessionId: 's1', epoch: 1, kind: 'web', sipCallId: null });
  if (!job) throw new Error('no slot');
  const plan = testPlan({ prompt: { first_message_mode: 'off' } }, { ...WEB, traceparent: ROOT });
  const call = calls.start(job, plan);
  const media = new SilentMedia(clock);
  const { leg } = await media.openRtpLeg({ remote: null });
  call.attach({ ...leg, kind: 'webrtc' } as Leg);
  const text = JSON.stringify({ type: 'user.message', text: 'hello' });
  media.legs[0]?.emit({ type: 'connected', atMs: clock.now() });
  media.legs[0]?.emit({ type: 'message', atMs: clock.now(), text });
  await clock.advance(10);
  calls.abandon(job);
  await call.ended;
  await clock.advance(0);
  expect(spans.map(({ name, parent }) => [name, parent])).toContainEqual(['turn', ROOT]);
});

describe('the flight log', () => {
  /** A web call that waits for its browser, and the numbers of the pieces of its log that were uploaded. */
  function startUnjoined() {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    const pieces: number[] = [];
    const deps = depsOf(clock, jobs, []);
    const put = ({ head }: Piece) => void (head.type === 'flight_log' && pieces.push(head.chunk));
    const calls = new JobCalls({ ...deps, uploads: { ...deps.uploads, put } });
    const job = jobs.reserve({ sessionId: 's1', epoch: 1, kind: 'web', sipCallId: null });
    if (!job) throw new Error('no slot');
    const call = calls.start(job, testPlan({ prompt: { first_message_mode: 'off' } }, WEB));
    return { clock, calls, job, call, pieces };
  }

  it('of a call is not uploaded before its caller has joined, and then from its beginning', async () => {
    const { clock, call, pieces } = startUnjoined();
    await clock.advance(10_000);
    expect(pieces).toEqual([]);
    const media = new SilentMedia(clock);
    const { leg } = await media.openRtpLeg({ remote: null });
    call.attach({ ...leg, kind: 'webrtc' } as Leg);
    media.legs[0]?.emit({ type: 'connected', atMs: clock.now() });
    await clock.advance(5_000);
    expect(pieces).toEqual([...pieces.keys()]);
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('of a call that its caller never joined is uploaded when it is over', async () => {
    const { clock, call, pieces } = startUnjoined();
    await clock.advance(10_000);
    call.end('room_join_timeout');
    await clock.advance(5_000);
    await call.ended;
    expect(pieces).toEqual([...pieces.keys()]);
    expect(pieces.length).toBeGreaterThan(0);
  });

  it('of a call that is handed over before its caller has joined is uploaded from its beginning', async () => {
    const { clock, calls, job, call, pieces } = startUnjoined();
    await clock.advance(10_000);
    job.offeredMs = clock.now();
    calls.abandon(job);
    await clock.advance(5_000);
    await call.ended;
    expect(pieces).toEqual([...pieces.keys()]);
    expect(pieces.length).toBeGreaterThan(0);
  });

  it('of a call that another worker has taken is not uploaded', async () => {
    const { clock, calls, job, call, pieces } = startUnjoined();
    await clock.advance(10_000);
    call.end('room_join_timeout');
    calls.abandon(job);
    await clock.advance(5_000);
    await call.ended;
    expect(pieces).toEqual([]);
  });
});

function depsOf(clock: ManualClock, jobs: JobTable, spans: FinishedSpan[]): JobCallsDeps {
  return {
    clock,
    jobs,
    logger: createLogger({ level: 'silent', name: 'test' }),
    random: () => 0.5,
    controlPlaneUrl: 'http://127.0.0.1:1',
    token: '',
    client: { report: () => undefined, send: () => undefined },
    engines: {
      forCall: () => ({
        recognizer: null,
        synthesizer: { id: 'mute', voices: [], async *synthesise() {} },
        model: { id: 'test/model', isCustom: false, async *stream() {} },
        knowledge: null,
        createTools: () => ({
          runner: {
            definitions: [],
            traits: () => null,
            run: () => Promise.reject(new Error('no tools')),
            close: () => undefined,
          },
          settle: null,
        }),
      }),
    },
    media: new SilentMedia(clock),
    phone: null,
    tracing: {
      hasContent: false,
      record: (span) => `${spans.push(span)}`,
      close: async () => undefined,
    },
    uploads: {
      put: () => undefined,
      end: () => undefined,
      drop: () => undefined,
      waiting: () => ({ items: [], bytes: 0 }),
      flushed: async () => undefined,
    },
  };
}
