/**
 * Journey: workers on machines of their own, a call, and a machine or a link that is lost. A call outlives
 * its machine; a machine that comes back stays silent; a lost link alone disturbs nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { has, itNeeds } from '#test/needs.ts';
import { Fleet, type Machine } from './fleet.ts';
import { callLive, type LivePhone } from './live-phone.ts';
import { agentAt } from './tenant.ts';

const NUMBER = '+15550100777';
const SETUP_MS = 240_000;
/** Longer than a death takes to be certain. */
const CUT_MS = 8_000;
/** A machine that is back would have hung up or spoken by then. */
const BACK_MS = 2_000;
/** Generous for a busy machine; the figure is printed. */
const VOICE_WITHIN_MS = 25_000;
const VOICE_PEAK = 1_000;
/** Calls on both machines when one is killed. */
const CALLS = 8;
const ENDED = 'completed user_hangup';
const GREETING = 'This is a long greeting which goes on and on so that somebody speaks all the time. '.repeat(
  30,
);

const ROOMS = ['livekit-server'];

let fleet: Fleet;
let livekit: LivekitServer | null = null;
let agentId: string;

beforeAll(async () => {
  if (has(ROOMS)) livekit = await startLivekitServer();
  fleet = await Fleet.start(livekit?.environment);
  await Promise.all([fleet.startMachine(43_000), fleet.startMachine(43_100)]);
  agentId = await agentAt(fleet, NUMBER, {
    prompt: { system_prompt: 'You talk.', first_message_mode: 'fixed', first_message: GREETING },
  });
}, SETUP_MS);
afterAll(async () => {
  await fleet?.close();
  await livekit?.close();
});

describe('a call on a machine of a fleet', () => {
  it('is not disturbed when only its worker’s link to the control plane is lost', {
    timeout: 120_000,
  }, async () => {
    const phone = await call();
    try {
      const machine = fleet.machineOf(phone.answeredPort);
      await speaks(phone);
      machine.link.cut();
      await goesOn(phone);
      machine.link.mend();
      await fleet.until('the session is active', async () => (await sessionOf()).status === 'active');
      expect({ moves: phone.moves, isHungUpOn: phone.isHungUpOn }).toEqual({ moves: [], isHungUpOn: false });
    } finally {
      await phone.hangUp();
    }
    expect(await settled()).toMatchObject({ end_reason: 'user_hangup', takeovers: [] });
  });

  it('is not disturbed while the only control plane is away', { timeout: 120_000 }, async () => {
    const phone = await call();
    try {
      await speaks(phone);
      fleet.killControlPlane();
      await goesOn(phone);
      await fleet.restartControlPlane();
      await fleet.until('the session is active', async () => (await sessionOf()).status === 'active');
      expect({ moves: phone.moves, isHungUpOn: phone.isHungUpOn }).toEqual({ moves: [], isHungUpOn: false });
    } finally {
      await phone.hangUp();
    }
    expect(await settled()).toMatchObject({ end_reason: 'user_hangup', takeovers: [] });
  });

  it('goes on elsewhere when the machine freezes; thawed, it neither speaks nor hangs up', {
    timeout: 180_000,
  }, async () => {
    const phone = await call();
    const machine = fleet.machineOf(phone.answeredPort);
    try {
      await speaks(phone);
      await lose([phone], 'a frozen machine', () => fleet.signal(machine, 'SIGSTOP'));
      fleet.signal(machine, 'SIGCONT');
      await expectSilent(phone, machine);
    } finally {
      fleet.signal(machine, 'SIGCONT');
      await phone.hangUp();
    }
    expect(await settled()).toMatchObject({ end_reason: 'user_hangup', takeovers: [{}] });
  });

  it('goes on elsewhere when the machine is cut off from everything but the caller: it falls silent first', {
    timeout: 180_000,
  }, async () => {
    const phone = await call();
    const machine = fleet.machineOf(phone.answeredPort);
    const links = [machine.link, machine.sipLink];
    try {
      await speaks(phone);
      const [lost] = streamsSince(phone, systemClock.now() - 500);
      await lose([phone], 'a machine cut off', () => {
        for (const link of links) link.cut();
      });
      const lastOld = phone.packets.findLast(({ ssrc }) => ssrc === lost);
      const firstNew = phone.packets.find(({ ssrc }) => ssrc !== lost);
      expect(lastOld?.atMs).toBeLessThan(firstNew?.atMs ?? 0);
      for (const link of links) link.mend();
      await expectSilent(phone, machine);
    } finally {
      for (const link of links) link.mend();
      await phone.hangUp();
    }
    expect(await settled()).toMatchObject({ end_reason: 'user_hangup', takeovers: [{}] });
  });

  itNeeds(ROOMS)(
    'goes on elsewhere in a LiveKit room; the thawed machine does not join it again',
    { timeout: 180_000 },
    async () => {
      const created = await fleet.ask('POST', '/v1/agent/sessions', { agent_id: agentId });
      const { session_id: sessionId, livekit_url: url, token } = created;
      const caller = await LivekitCaller.join(url, token);
      const isThere = { timeout: VOICE_WITHIN_MS };
      await expect.poll(() => caller.loudBlocks, isThere).toBeGreaterThan(0);
      await fleet.until('a machine has logged the session', () => !!fleet.machineThatLogged(sessionId));
      const machine = fleet.machineThatLogged(sessionId) as Machine;
      try {
        const frozenMs = systemClock.now();
        fleet.signal(machine, 'SIGSTOP');
        await expect.poll(() => caller.agentsHeard, isThere).toBe(2);
        const before = caller.loudBlocks;
        await expect.poll(() => caller.loudBlocks, isThere).toBeGreaterThan(before);
        const gapMs = Math.round(systemClock.now() - frozenMs);
        console.log(`a frozen machine, in a room: the agent's voice again after ${gapMs} ms`);
        fleet.signal(machine, 'SIGCONT');
        await knowsThatCallIsTaken(machine, sessionId);
        await systemClock.sleep(BACK_MS);
        expect(caller.agentsHeard).toBe(2);
        expect(caller.room.remoteParticipants.size).toBe(1);
      } finally {
        fleet.signal(machine, 'SIGCONT');
        await caller.hangUp();
      }
      expect(await settled()).toMatchObject({
        session_id: sessionId,
        end_reason: 'user_hangup',
        takeovers: [{}],
      });
    },
  );

  it('goes on elsewhere when the machine is lost, with every other call on it: each settled once', {
    timeout: 240_000,
  }, async () => {
    await fleet.until('both machines serve calls', async () =>
      /^parley_workers 2$/m.test(await (await fetch(`${fleet.url}/metrics`)).text()),
    );
    const phones = await Promise.all(Array.from({ length: CALLS }, () => call()));
    try {
      for (const phone of phones) await speaks(phone);
      const machine = fleet.machineOf(phones[0]?.answeredPort ?? 0);
      const isLost = ({ answeredPort }: LivePhone) => fleet.machineOf(answeredPort) === machine;
      const [lost, others] = [phones.filter(isLost), phones.filter((phone) => !isLost(phone))];
      expect(others).not.toEqual([]);
      await lose(lost, 'a killed machine', () => fleet.signal(machine, 'SIGKILL'));
      expect(phones.map(({ isHungUpOn }) => isHungUpOn)).toEqual(phones.map(() => false));
      expect(others.flatMap(({ moves }) => moves)).toEqual([]);
    } finally {
      await Promise.all(phones.map((phone) => phone.hangUp()));
    }
    await fleet.until('every session is completed', async () =>
      (await sessions()).every(({ status, end_reason: reason }) => `${status} ${reason}` === ENDED),
    );
    expect((await fleet.ask('GET', '/admin/wallets/verify')).flaws).toEqual([]);
  });
});

/** The machine is back: it neither speaks nor hangs up, and knows why. */
async function expectSilent(phone: LivePhone, machine: Machine): Promise<void> {
  const backMs = systemClock.now();
  await knowsThatCallIsTaken(machine, (await sessionOf()).session_id);
  await systemClock.sleep(BACK_MS);
  expect(streamsSince(phone, backMs)).toHaveLength(1);
  expect({ moves: phone.moves.length, isHungUpOn: phone.isHungUpOn }).toEqual({
    moves: 1,
    isHungUpOn: false,
  });
}

function knowsThatCallIsTaken({ program }: Machine, sessionId: string): Promise<void> {
  const isIt = (line: string) => line.includes('another worker has the call') && line.includes(sessionId);
  return fleet.until('it knows that the call is taken', () => program.output.split('\n').some(isIt));
}

/** The agent goes on speaking for longer than a death or the end of a lease takes. */
async function goesOn(phone: LivePhone): Promise<void> {
  const fromMs = systemClock.now();
  await systemClock.sleep(CUT_MS);
  expect(streamsSince(phone, fromMs)).toHaveLength(1);
  const last = phone.packets.filter(({ atMs }) => atMs > systemClock.now() - CUT_MS / 4);
  // One packet in 20 ms; a busy machine may lose some.
  expect(last.length).toBeGreaterThan(CUT_MS / 4 / 40);
}

/** Loses the machine of these calls, waits until another one speaks to each, and prints how long it took. */
async function lose(phones: readonly LivePhone[], what: string, how: () => void): Promise<void> {
  const old = new Map(phones.map((phone) => [phone, streamsSince(phone, systemClock.now() - 500)[0]]));
  how();
  const lostMs = systemClock.now();
  const voiceOf = (phone: LivePhone) =>
    phone.packets.find(
      ({ atMs, ssrc, peak }) => atMs > lostMs && ssrc !== old.get(phone) && peak > VOICE_PEAK,
    )?.atMs;
  const isHeard = (phone: LivePhone) => voiceOf(phone) !== undefined;
  await fleet.until('the agent speaks again', () => phones.every(isHeard), VOICE_WITHIN_MS);
  const gaps = phones.map((phone) => Math.round((voiceOf(phone) ?? 0) - lostMs)).sort((a, b) => a - b);
  console.log(`${what}: the agent's voice again after ${gaps.join(', ')} ms`);
}

function call(): Promise<LivePhone> {
  return callLive(fleet.sipAddress(NUMBER), '+15551230000');
}

/** Waits until the agent speaks. */
function speaks({ packets }: LivePhone): Promise<void> {
  return fleet.until('the agent speaks', () => packets.some(({ peak }) => peak > VOICE_PEAK));
}

/** The streams (RFC 3550: SSRC) of the packets received since a time. */
function streamsSince({ packets }: LivePhone, sinceMs: number): number[] {
  return [...new Set(packets.filter(({ atMs }) => atMs > sinceMs).map(({ ssrc }) => ssrc))];
}

async function sessions(): Promise<{ session_id: string; status: string; end_reason: string }[]> {
  return (await fleet.ask('GET', '/v1/agent/sessions')).sessions;
}

/** The newest session. */
async function sessionOf() {
  const [newest] = await sessions();
  return fleet.ask('GET', `/v1/agent/sessions/${newest?.session_id}`);
}

async function settled() {
  await fleet.until('the session is completed', async () => (await sessionOf()).status === 'completed');
  return sessionOf();
}
