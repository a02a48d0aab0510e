import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Leg, RestOfSent } from '#media/leg/leg.ts';
import type { CallPlan, TransferRoute } from '#protocol/call-plan.ts';
import type {
  DurableReport,
  FailoverState,
  PhoneFailoverState,
  ReportedDialog,
} from '#protocol/worker-link.ts';
import type { Call } from '#runtime/calls/call.ts';
import { failOverJob } from '#runtime/worker/failover-calls.ts';
import { type Job, JobTable } from '#runtime/worker/job-table.ts';
import type { SipMessage } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { type Link, openLink } from '../../fakes/link.ts';
import { connectTestWorker, startTestSignalling } from '../../fakes/signalling.ts';
import { SilentMedia } from '../../fakes/silent-media.ts';
import { openRawCaller, type RawCaller } from '../../telephony/embedded/raw-caller.ts';
import { cseqOf, methodOf } from '../../telephony/two-servers.ts';
import { testPlan } from '../test-plan.ts';

const LONG_MS = 10_000;
const LOST_AT = '2026-01-01T00:00:05.000Z';
const logger = createLogger({ level: 'silent', name: 'test' });
/** Of a destination that is a phone. */
const PHONE_ROUTE: TransferRoute = {
  number: null,
  dial_uri: '',
  guard: null,
  is_referable: false,
  headers: {},
  username: null,
  password: null,
  phone_extension: '204',
  error: null,
};
const sdp = (port: number) =>
  `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\n`;

/** A call from another worker: both phones write every line themselves. */
describe('a caller and the person of a transfer after their worker died', () => {
  let server: EmbeddedSignalling;
  let link: Link;
  let signalling: Signalling;
  let caller: RawCaller;
  let person: RawCaller;
  let reports: DurableReport[];
  let ended: unknown[];
  let startedWith: FailoverState | null;
  let rejoined: Leg[];
  let media: SilentMedia;
  /** The rest of the stream of a worker that handed the call over; undefined if it died. */
  let rest: Promise<RestOfSent | null> | undefined;
  /** Another worker takes the call while its dialogs move here. */
  let isTakenMeanwhile: boolean;
  let plan: CallPlan;

  beforeEach(async () => {
    [reports, ended, startedWith, rejoined, isTakenMeanwhile] = [[], [], null, [], false];
    [rest, plan] = [undefined, testPlan()];
    media = new SilentMedia(systemClock);
    server = await startTestSignalling({
      admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
    });
    link = await openLink(server.appPort);
    signalling = await connectTestWorker({ appPort: link.port }, 'worker-2');
    [caller, person] = [await openRawCaller(server.sipPort), await openRawCaller(server.sipPort)];
  });
  afterEach(async () => {
    caller.close();
    person.close();
    signalling.close();
    await link.close();
    await server.close();
  });

  function dialogOf({ port }: RawCaller): ReportedDialog {
    const [local_party, remote_party] = [
      '<sip:agent@127.0.0.1>;tag=l',
      `<sip:phone@127.0.0.1:${port}>;tag=r`,
    ];
    const tags = { local_tag: 'l', remote_tag: 'r', local_party, remote_party };
    const where = {
      remote_target: `sip:phone@127.0.0.1:${port}`,
      local_contact: 'sip:agent@127.0.0.1',
      route_set: [],
    };
    return {
      sip_call_id: `call-${port}`,
      ...tags,
      ...where,
      local_cseq: 1,
      local_sdp: sdp(4_000),
      remote_sdp: sdp(port),
    };
  }

  /** Both receive a re-INVITE, and answer with these. */
  async function failOver(
    is_joined: boolean,
    answers: { readonly caller: number; readonly person: number },
  ): Promise<void> {
    const known = { items: [], was_cut_off: false, elapsed_ms: 5_000, lost_at: LOST_AT };
    const failoverState: PhoneFailoverState = {
      ...known,
      dialog: dialogOf(caller),
      person: { dialog: dialogOf(person), is_joined },
      ...(rest && { former: { instance_id: 'worker-1', epoch: 1 } }),
    };
    const job = new JobTable(systemClock).reserve({
      sessionId: 's',
      epoch: 2,
      kind: 'phone',
      sipCallId: null,
    }) as Job;
    const call: Pick<Call, 'attach' | 'rejoin'> = {
      attach: () => undefined,
      rejoin: (leg) => void rejoined.push(leg),
    };
    const calls = {
      report: (_: Job, report: DurableReport) => void reports.push(report),
      reportEnd: (_: Job, ...end: unknown[]) => void ended.push(end),
      start: (of: Job, _: unknown, given: FailoverState | null = null) => {
        startedWith = given;
        of.call = call as Call;
        return of.call;
      },
    };
    const deps = {
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
      signalling,
      calls,
      streams: { take: async () => rest ?? null },
      logger,
    };
    const answered = [
      [caller, answers.caller],
      [person, answers.person],
    ] as const;
    const done = failOverJob(deps, job, plan, failoverState);
    job.isTaken = isTakenMeanwhile;
    await Promise.all([
      done,
      ...answered.map(async ([phone, status]) =>
        phone.answer(await phone.incoming('INVITE', LONG_MS), status, status === 200 ? sdp(phone.port) : ''),
      ),
    ]);
  }
  const reportedPerson = () => reports.findLast((report) => report.type === 'person')?.person;

  it('are joined again if they were talking, and reported, which lets a third worker do the same', async () => {
    await failOver(true, { caller: 200, person: 200 });
    expect(startedWith?.person).toMatchObject({
      is_joined: true,
      dialog: { sip_call_id: `call-${person.port}` },
    });
    expect(rejoined).toHaveLength(1);
    expect(reportedPerson()).toEqual(startedWith?.person);
    expect([...caller.requests, ...person.requests]).not.toContain('BYE');
  });

  it('security 12: send no audio to the address that a registered phone names before it was heard', async () => {
    plan = testPlan({}, { transfer: { is_counted: false, from_number: '101', routes: [PHONE_ROUTE] } });
    await failOver(true, { caller: 200, person: 200 });
    const remotes = media.legs.flatMap(({ commands }) =>
      commands.flatMap((command) => (command.do === 'setRemote' ? [command.remote] : [])),
    );
    expect(remotes.map(({ port, isHeardFirst = false }) => [port, isHeardFirst])).toEqual(
      expect.arrayContaining([
        [caller.port, false],
        [person.port, true],
      ]),
    );
  });

  it('hear silence of the worker that handed them over until this one has the rest of its stream', async () => {
    const { promise, resolve } = Promise.withResolvers<RestOfSent | null>();
    rest = promise;
    const failedOver = failOver(true, { caller: 200, person: 200 });
    const commandsOf = (name: string) => media.legs[0]?.commands.filter((command) => command.do === name);
    await expect.poll(() => commandsOf('setRemote'), { timeout: LONG_MS }).toHaveLength(1);
    expect([media.legs[0]?.awaitsStream, commandsOf('continueStream'), startedWith]).toEqual([
      true,
      [],
      null,
    ]);
    const numbers = {
      ssrc: 7,
      cname: 'c',
      sequence: 8,
      timestamp: 9,
      clockHz: 8_000,
      packets: 10,
      bytes: 11,
      dueMs: 12,
    };
    resolve(numbers);
    await failedOver;
    expect(commandsOf('continueStream')).toEqual([{ do: 'continueStream', rest: numbers }]);
    expect(startedWith).not.toBeNull();
  });

  it('have their requests answered while this one waits for the rest of that stream', async () => {
    const { promise, resolve } = Promise.withResolvers<RestOfSent | null>();
    rest = promise;
    const failedOver = failOver(true, { caller: 200, person: 200 });
    await expect.poll(() => media.legs[0]?.remotes.length, { timeout: LONG_MS }).toBe(1);
    const tags = { callId: `call-${caller.port}`, fromTag: 'r', toTag: 'l', cseq: 7 };
    caller.request({ ...tags, body: sdp(caller.port).replace('o=- 1 1', 'o=- 1 2') });
    // 488 would tell the phone that its change is impossible.
    await caller.response(200, LONG_MS);
    caller.request({ ...tags, method: 'ACK' });
    expect(media.legs[0]?.remotes).toHaveLength(2);
    resolve(null);
    await failedOver;
  });

  it('are sent to at once after the death of their worker', async () => {
    await failOver(true, { caller: 200, person: 200 });
    expect(media.legs.map(({ awaitsStream }) => awaitsStream)).toEqual([false, false]);
  });

  it('are both reported again when a SIP server has them anew', async () => {
    await failOver(true, { caller: 200, person: 200 });
    reports = [];
    link.cut();
    link.mend();
    for (const phone of [caller, person]) {
      const first = cseqOf(await phone.incoming('INVITE'));
      const isNext = (message: SipMessage) => methodOf(message) === 'INVITE' && cseqOf(message) > first;
      phone.answer(await phone.next(isNext, LONG_MS), 200, sdp(phone.port));
    }
    await expect
      .poll(() => reports.map(({ type }) => type).sort(), { timeout: LONG_MS })
      .toEqual(['dialog', 'person']);
    expect(reportedPerson()).toMatchObject({
      is_joined: true,
      dialog: { sip_call_id: `call-${person.port}` },
    });
  });

  it('are separated if the person has hung up: the caller returns to the agent', async () => {
    await failOver(true, { caller: 200, person: 481 });
    expect(startedWith).toMatchObject({ person: null });
    expect([rejoined, reportedPerson()]).toEqual([[], null]);
  });

  it('are both hung up on if the caller has hung up, because the call had been handed over', async () => {
    await failOver(true, { caller: 481, person: 200 });
    await person.incoming('BYE', LONG_MS);
    expect(ended).toEqual([['escalated', LOST_AT]]);
    expect(startedWith).toBeNull();
  });

  it('are left alone if yet another worker has taken the call meanwhile', async () => {
    isTakenMeanwhile = true;
    await failOver(true, { caller: 200, person: 200 });
    expect([startedWith, reports, ended]).toEqual([null, [], []]);
    await expect.poll(() => media.legs.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(server.metrics().dialogs).toBe(2);
    expect([...caller.requests, ...person.requests]).not.toContain('BYE');
  });

  it('are separated if not yet joined: the caller returns to the agent; the person is called again', async () => {
    await failOver(false, { caller: 200, person: 200 });
    expect(startedWith).toMatchObject({ person: null });
    await person.incoming('BYE', LONG_MS);
    expect([rejoined, reportedPerson(), caller.requests.includes('BYE')]).toEqual([[], null, false]);
  });
});
