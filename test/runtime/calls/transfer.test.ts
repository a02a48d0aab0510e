import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { RecordingEvent } from '#media/leg/recorder.ts';
import { type FliteSynthesizer, openFlite } from '#media/speech/local/flite.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import type { TransferRoute } from '#protocol/call-plan.ts';
import { startTransfer, type Transfer } from '#runtime/calls/transfer.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { dialOutboundCall, type OutboundCallRequest } from '#telephony/outbound-call.ts';
import type { DialogFacts, Signalling } from '#telephony/signalling.ts';
import { answerPhone } from '../../fakes/baresip.ts';
import { keysInTones } from '../../fakes/key-ear.ts';
import { openRtpPeer, type RtpPeer } from '../../fakes/rtp-peer.ts';
import { connectTestWorker, startTestSignalling } from '../../fakes/signalling.ts';
import { type PhoneManner, type SippPhone, startSippPhone } from '../../fakes/sipp-phone.ts';
import { power, tone } from '../../fakes/tone.ts';
import { describeNeeds, itNeeds } from '../../needs.ts';
import {
  CALLER_HZ,
  expectHearsAgent,
  HEARD,
  HUMAN_HZ,
  heardBy,
  hears,
  isLoud,
  portOf,
  repeatedYes,
  WITHIN,
} from './transfer-audio.ts';
import { transferPlan } from './transfer-route.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const SALES = '+14155550123';
const egress = createEgressGuard({ allow: [], clock: systemClock });

describeNeeds(['sipp'])('a transfer over the embedded signalling', () => {
  let media: LegFactory;
  let voice: FliteSynthesizer;
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let facts: Extract<TurnFact, { type: `transfer.${string}` }>[];
  let phones: SippPhone[];
  let peers: { caller: RtpPeer; human: RtpPeer };
  let callerLeg: Leg;
  let callerEvents: LegEvent[];
  let recorded: RecordingEvent[];
  /** The persons that the transfer has reported, in order. */
  let persons: ({ readonly callId: string; readonly isJoined: boolean } | null)[];

  beforeAll(async () => {
    media = await startMediaThread({
      rtpPortMin: 24_100,
      rtpPortMax: 24_139,
      iceServers: [],
      clock: systemClock,
      logger,
    });
    voice = await openFlite();
    server = await startTestSignalling({
      admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
    });
    worker = await connectTestWorker(server);
  });
  afterAll(async () => {
    worker.close();
    await server.close();
    await voice.close();
    await media.close();
  });
  beforeEach(async () => {
    facts = [];
    phones = [];
    callerEvents = [];
    recorded = [];
    persons = [];
    peers = { caller: await openRtpPeer(), human: await openRtpPeer() };
  });
  afterEach(() => {
    peers.caller.close();
    peers.human.close();
  });

  const place = (request: OutboundCallRequest, signal: AbortSignal) =>
    dialOutboundCall(
      {
        clock: systemClock,
        media,
        signalling: worker,
        egress,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: Math.random,
      },
      request,
      signal,
    );
  async function phone(manner: PhoneManner, peer: RtpPeer): Promise<SippPhone> {
    const started = await startSippPhone(manner, peer.port);
    phones.push(started);
    return started;
  }

  /** A caller on the line, an agent that transfers them, and the person at the far end. */
  async function transfer(of: {
    caller?: PhoneManner | { readonly uri: string };
    human?: PhoneManner | { readonly uri: string };
    destination?: object;
    /** Changes to the route. */
    route?: Partial<TransferRoute>;
    recognizer?: Recognizer;
    notes?: string;
    /** Awaited between the answer and the transfer. */
    talk?: () => Promise<void>;
  }): Promise<Transfer> {
    const uriOf = async (who: PhoneManner | { readonly uri: string }, name: string, peer: RtpPeer) =>
      'uri' in who ? who.uri : `sip:${name}@${(await phone(who, peer)).address}`;
    const caller = await uriOf(of.caller ?? { does: 'answer' }, 'caller', peers.caller);
    const human = of.human ? await uriOf(of.human, SALES, peers.human) : '';
    const request = {
      toUri: caller,
      fromNumber: '+15550100001',
      headers: { 'X-Service-Session-Id': 's1' },
      credentials: null,
    };
    const call = await place({ ...request, recording: null, ringMs: 20_000 }, new AbortController().signal);
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    callerLeg = call.leg;
    call.leg.listen((events) => void callerEvents.push(...events));
    void peers.caller.speak(portOf(call.dialog.localSdp), tone(CALLER_HZ, 120_000));
    await of.talk?.();
    return startTransfer({
      plan: transferPlan({ phone_number: SALES, ...of.destination }, { dial_uri: human, ...of.route }),
      clock: systemClock,
      logger,
      caller: call.leg,
      line: call,
      findPhones: null,
      mayTransfer: null,
      placeCall: async (wanted, signal) => {
        const placed = await place(wanted, signal);
        if (placed.outcome === 'answered') humanDialog = placed.dialog;
        return placed;
      },
      recognizer: of.recognizer ?? null,
      synthesizer: voice,
      destination: 0,
      notes: of.notes ?? '',
      tell: (fact) => facts.push(fact),
      onPerson: (person) =>
        persons.push(person && { callId: person.dialog.sipCallId, isJoined: person.isJoined }),
      onRecording: (event) => recorded.push(event),
    });
  }
  let humanDialog: DialogFacts | null = null;

  /** The caller does not hang up: both phones end as their scenarios specify. */
  async function expectEnded(): Promise<void> {
    callerLeg.send({ do: 'close' });
    for (const { ended } of phones) {
      const { code, screen } = await ended;
      expect(code, screen).toBe(0);
    }
    await expect.poll(() => server.metrics().dialogs, WITHIN).toBe(0);
  }
  const finished = () => expect.poll(() => facts.at(-1)?.type, WITHIN).toBe('transfer.finished');

  /** Caller and human hear each other, but not themselves. */
  async function expectJoined(): Promise<void> {
    await expect.poll(() => facts.map(({ type }) => type), WITHIN).toEqual(['transfer.joined']);
    const callId = humanDialog?.sipCallId;
    expect(persons).toEqual([
      { callId, isJoined: false },
      { callId, isJoined: true },
    ]);
    void peers.human.speak(portOf(humanDialog?.localSdp ?? ''), tone(HUMAN_HZ, 60_000));
    peers.caller.heard.length = 0;
    peers.human.heard.length = 0;
    await expect.poll(() => power(heardBy(peers.caller), HUMAN_HZ), WITHIN).toBeGreaterThan(HEARD);
    await expect.poll(() => power(heardBy(peers.human), CALLER_HZ), WITHIN).toBeGreaterThan(HEARD);
    expect(power(heardBy(peers.caller), CALLER_HZ)).toBeLessThan(power(heardBy(peers.caller), HUMAN_HZ) / 50);
    expect(power(heardBy(peers.human), HUMAN_HZ)).toBeLessThan(power(heardBy(peers.human), CALLER_HZ) / 50);
  }

  const expectWithAgent = () => expectHearsAgent(peers.caller, callerLeg);

  /** The human is recorded, and the caller is not on that track. */
  function expectHumanRecorded(): void {
    const samples = Int16Array.from(recorded.flatMap((event) => [...event.samples]));
    expect(new Set(recorded.map(({ track }) => track))).toEqual(new Set(['human']));
    expect(power(samples, HUMAN_HZ)).toBeGreaterThan(HEARD);
    expect(power(samples, CALLER_HZ)).toBeLessThan(power(samples, HUMAN_HZ) / 50);
  }

  itNeeds(['baresip'])(
    'cold: a real phone takes the REFER and calls the person itself; the two hear each other',
    async () => {
      const [caller, human] = [
        await answerPhone(tone(CALLER_HZ, 60_000)),
        await answerPhone(tone(HUMAN_HZ, 60_000)),
      ];
      try {
        // One second of the call with the agent, because the phone names its recordings by the second.
        await transfer({
          caller,
          human,
          talk: () => expect.poll(() => caller.heard().length, WITHIN).toBeGreaterThan(9_000),
        });
        await finished();
        expect(facts).toEqual([{ type: 'transfer.finished', isDone: true, message: '' }]);
        callerLeg.send({ do: 'close' });
        await expect.poll(() => power(human.heard(), CALLER_HZ), WITHIN).toBeGreaterThan(HEARD);
        await human.hangUp();
        await expect.poll(() => power(caller.heard(), HUMAN_HZ), WITHIN).toBeGreaterThan(HEARD);
        expect(power(caller.heard(), CALLER_HZ)).toBeLessThan(power(caller.heard(), HUMAN_HZ) / 50);
        expect(power(human.heard(), HUMAN_HZ)).toBeLessThan(power(human.heard(), CALLER_HZ) / 50);
        await expect.poll(() => server.metrics().dialogs, WITHIN).toBe(0);
      } finally {
        await Promise.all([caller.close(), human.close()]);
      }
    },
    60_000,
  );

  it('cold: the carrier accepts the REFER and the called person answers', async () => {
    await transfer({
      caller: { does: 'refer', to: `sip:\\${SALES}@`, status: 202, notifies: [100, 180, 200] },
    });
    await finished();
    expect(facts).toEqual([{ type: 'transfer.finished', isDone: true, message: '' }]);
    await expectEnded();
  }, 40_000);

  it('cold: the person called by the carrier is busy; the caller returns to the agent', async () => {
    await transfer({ caller: { does: 'refer', to: SALES.slice(1), status: 202, notifies: [100, 486] } });
    await finished();
    expect(facts).toEqual([{ type: 'transfer.finished', isDone: false, message: 'The person is busy.' }]);
    await expectWithAgent();
    await expectEnded();
  }, 40_000);

  it('cold: the carrier rejects the REFER; the worker dials, joins both and records the human', async () => {
    const running = await transfer({
      caller: { does: 'refer', to: SALES.slice(1), status: 405, notifies: [] },
      human: { does: 'answer' },
    });
    await expectJoined();
    await running.stop();
    expectHumanRecorded();
    await expectEnded();
  }, 60_000);

  it('security 4: cold, to a host barred for REFER: the worker dials without asking the carrier', async () => {
    const running = await transfer({
      caller: { does: 'answer' },
      human: { does: 'answer' },
      route: { is_referable: false },
    });
    await expectJoined();
    await running.stop();
    await expectEnded();
  }, 40_000);

  it('cold, to an extension: its keys are pressed before caller and person hear each other', async () => {
    const route = { is_referable: false, extension: 'w20#4' };
    const human = { does: 'takeKeys', by: 'audio' } as const;
    const running = await transfer({ caller: { does: 'answer' }, human, route });
    const keys = () => keysInTones(peers.human.audio()).map(({ key }) => key);
    await expect.poll(() => keys().join(''), WITHIN).toBe('20#4');
    await expectJoined();
    await running.stop();
    await expectEnded();
  }, 40_000);

  it('security 12: cold, to a barred host: no call; the model gets the reason, the agent the caller', async () => {
    const route = {
      dial_uri: 'sip:desk@127.0.0.1:9',
      is_referable: false,
      guard: { trunk: '', trusted: [] },
    };
    await transfer({ caller: { does: 'answer' }, route });
    await finished();
    expect(facts).toEqual([
      {
        type: 'transfer.finished',
        isDone: false,
        message: 'The destination cannot be called: The host is not a public address.',
      },
    ]);
    await expectWithAgent();
    await expectEnded();
  }, 40_000);

  it('cold: the carrier rejects and no call can be placed', async () => {
    await transfer({ caller: { does: 'refer', to: SALES.slice(1), status: 603, notifies: [] } });
    await finished();
    expect(facts).toEqual([
      { type: 'transfer.finished', isDone: false, message: 'The carrier refused the transfer.' },
    ]);
    await expectWithAgent();
    await expectEnded();
  }, 40_000);

  it('cold: the carrier rejects, and the worker’s callee is busy: the caller returns to the agent', async () => {
    await transfer({
      caller: { does: 'refer', to: SALES.slice(1), status: 405, notifies: [] },
      human: { does: 'refuse', status: 486 },
    });
    await finished();
    expect(facts).toEqual([{ type: 'transfer.finished', isDone: false, message: 'The person is busy.' }]);
    await expectWithAgent();
    await expectEnded();
  }, 40_000);

  it('warm: the caller hears music, the briefed human says yes, and both are joined', async () => {
    const running = await transfer({
      destination: { mode: 'warm' },
      human: { does: 'answer' },
      recognizer: hears('yes, go ahead'),
      notes: 'They want a refund.',
    });
    await expect.poll(() => isLoud(peers.human), WITHIN).toBe(true);
    expect(isLoud(peers.caller)).toBe(true);
    expect(facts).toEqual([]);
    answerWhenAsked();
    await expectJoined();
    await running.stop();
    expectHumanRecorded();
    await expectEnded();
  }, 60_000);

  it.each([
    ['no', hears('no, I am in a meeting'), 'cannot take the call'],
    ['voicemail', hears('please leave a message after the tone'), 'voicemail'],
  ])(
    'warm: the human answers %s and is hung up on; the caller returns to the agent',
    async (_, recognizer, message) => {
      await transfer({
        destination: { mode: 'warm', warm_briefing_instructions: 'Be brief.' },
        human: { does: 'answer' },
        recognizer,
        notes: 'A refund.',
      });
      await expect.poll(() => isLoud(peers.human), WITHIN).toBe(true);
      answerWhenAsked();
      await finished();
      expect(facts).toEqual([
        { type: 'transfer.finished', isDone: false, message: expect.stringContaining(message) },
      ]);
      await expect.poll(() => persons.at(-1), WITHIN).toBeNull();
      await expectWithAgent();
      await expectEnded();
    },
    60_000,
  );

  it('warm: the human does not answer the phone', async () => {
    await transfer({
      destination: { mode: 'warm' },
      human: { does: 'refuse', status: 480 },
      recognizer: hears('yes'),
    });
    await finished();
    expect(facts).toEqual([{ type: 'transfer.finished', isDone: false, message: 'Nobody answered.' }]);
    await expectWithAgent();
    await expectEnded();
  }, 40_000);

  it('warm: a caller hangs up on hold; the human is notified, then hung up on', async () => {
    const running = await transfer({
      destination: { mode: 'warm' },
      human: { does: 'answer' },
      recognizer: hears('yes'),
    });
    await expect.poll(() => isLoud(peers.human), WITHIN).toBe(true);
    const before = peers.human.heard.length;
    await running.stop();
    await phones[1]?.ended;
    expect(peers.human.heard.slice(before).filter(({ peak }) => peak > 1_000).length).toBeGreaterThan(20);
    expect(facts).toEqual([]);
    await expectEnded();
  }, 60_000);

  /** The human repeats the answer, as real people do until they are understood. */
  function answerWhenAsked(): void {
    void peers.human.speak(portOf(humanDialog?.localSdp ?? ''), repeatedYes());
  }
});
