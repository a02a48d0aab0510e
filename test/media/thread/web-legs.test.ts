/**
 * After some rooms another process takes the new web calls. The processes and the LiveKit server are real; a
 * room is in the process that is connected to the server.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { agentIdentity, callerIdentity, type Rooms } from '#control-plane/platform/rooms.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { webProcesses } from '#test/fakes/web-processes.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';

const NEEDS = ['livekit-server'];
const PATIENTLY = { timeout: 40_000, interval: 50 };
const LIMIT_MS = 40_000;
const SLOW = { timeout: 120_000 };
/** State of a connection in /proc/net/tcp. */
const ESTABLISHED = '01';

describeNeeds(NEEDS)('the process of the web calls', () => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  let server: LivekitServer;
  let rooms: Rooms;
  let host: LegFactory;

  beforeAll(async () => {
    server = await startLivekitServer();
    const opened = openRooms(readSettings(server.environment), logger);
    if (!opened) throw new Error('no rooms');
    rooms = opened;
  });
  afterAll(() => server?.close());

  async function startHost(): Promise<void> {
    host = await startMediaThread({
      rtpPortMin: 22_600,
      rtpPortMax: 22_699,
      iceServers: [],
      clock: systemClock,
      logger,
      roomsPerProcess: 2,
    });
  }
  beforeEach(startHost);
  afterEach(() => host.close());

  /** A room in which caller and agent are connected. */
  async function openRoom() {
    const room = `room-${randomBytes(6).toString('hex')}`;
    await rooms.create(room, 60);
    const token = await rooms.token({ room, identity: agentIdentity(room), role: 'agent', ttlSeconds: 600 });
    const { leg } = await host.openLivekitLeg({
      url: rooms.url,
      token,
      callerIdentity: callerIdentity(room),
      recording: null,
      mayRejoin: false,
    });
    const log = new LegLog(leg);
    const caller = await LivekitCaller.join(
      rooms.url,
      await rooms.token({ room, identity: callerIdentity(room), role: 'caller', ttlSeconds: 60 }),
    );
    await log.next('connected', undefined, LIMIT_MS);
    return { leg, log, caller };
  }
  type OpenRoom = Awaited<ReturnType<typeof openRoom>>;

  /** Plays a tone; returns its name. */
  function play({ leg }: OpenRoom): string {
    const replyId = randomBytes(4).toString('hex');
    const samples = Int16Array.from(
      { length: leg.outRateHz },
      (_, n) => 8000 * Math.sin((2 * Math.PI * 440 * n) / leg.outRateHz),
    );
    leg.send({ do: 'play', replyId, pieceId: 0, samples, marks: Int32Array.of(), last: true });
    return replyId;
  }

  /** Plays a tone, which the caller must hear. */
  async function hears(room: OpenRoom): Promise<void> {
    const { log, caller } = room;
    const before = caller.loudBlocks;
    const replyId = play(room);
    await log.next('playout.finished', (event) => event.replyId === replyId, LIMIT_MS);
    await expect.poll(() => caller.loudBlocks, PATIENTLY).toBeGreaterThan(before + 50);
  }

  async function leave({ log, caller }: OpenRoom): Promise<void> {
    await caller.leave();
    await log.next('closed', undefined, LIMIT_MS);
  }

  /** Two rooms, after which a second process is started; `onSecond` is called before it is ready. */
  async function fillFirst(onSecond: (pid: number) => void = () => undefined) {
    const going = await openRoom();
    const [first = 0] = webProcesses();
    const starting = expect.poll(() => webProcesses().length, { ...PATIENTLY, interval: 10 }).toBe(2);
    const started = starting.then(() => {
      const second = webProcesses().find((pid) => pid !== first) ?? 0;
      onSecond(second);
      return second;
    });
    const [other, second] = await Promise.all([openRoom(), started]);
    return { going, other, first, second };
  }

  /** Two rooms, and a second process that was killed before it was ready. */
  async function loseSecond(moment: string) {
    for (;;) {
      host.warmUp(['webrtc', 'livekit']);
      const going = await openRoom();
      const [first = 0] = webProcesses();
      const killed = killNext(first, moment);
      const other = await openRoom();
      if (await killed) return { going, other, first };
      // On a busy machine it may be ready before this one has seen it.
      for (const room of [going, other]) await leave(room);
      await host.close();
      await startHost();
    }
  }

  /** The first room that the second process gets. */
  async function openRoomIn(second: number): Promise<OpenRoom> {
    const deadlineMs = systemClock.now() + LIMIT_MS;
    while (systemClock.now() < deadlineMs) {
      const opened = await openRoom();
      if (isConnectedTo(second, server.port)) return opened;
      await leave(opened);
    }
    throw new Error('the second process gets no room');
  }

  itNeeds(NEEDS)(
    'is replaced after some rooms, without disturbing the calls going on in it, and ends with the last of them',
    SLOW,
    async () => {
      const { going, other, first, second } = await fillFirst();
      const talking = hears(going);
      const next = await openRoomIn(second);
      await talking;
      await leave(other);
      await hears(going);
      await hears(next);
      expect(webProcesses()).toEqual([first, second].sort((a, b) => a - b));
      expect(going.log.all('away')).toEqual([]);
      await leave(going);
      await expect.poll(webProcesses, PATIENTLY).toEqual([second]);
      await hears(next);
      await leave(next);
    },
  );

  itNeeds(NEEDS)('takes new rooms until its successor is ready', SLOW, async () => {
    const { second } = await fillFirst((pid) => process.kill(pid, 'SIGSTOP'));
    const late = await openRoom();
    await hears(late);
    process.kill(second, 'SIGCONT');
    const next = await openRoomIn(second);
    for (const room of [late, next]) await leave(room);
  });

  itNeeds(NEEDS).each(['starts', 'loads'])(
    'goes on if its successor is killed while it %s, and tries again after as many rooms',
    SLOW,
    async (moment) => {
      const { going, other, first } = await loseSecond(moment);
      await expect.poll(webProcesses, PATIENTLY).toEqual([first]);
      await systemClock.sleep(1_000);
      expect(webProcesses()).toEqual([first]);
      const third = await openRoom();
      expect(webProcesses()).toEqual([first]);
      const fourth = await openRoom();
      for (const room of [going, other, third, fourth]) await leave(room);
      const others = () => webProcesses().filter((pid) => pid !== first);
      await expect.poll(() => [webProcesses().length, others().length], PATIENTLY).toEqual([1, 1]);
    },
  );

  itNeeds(NEEDS)('is silent if the time to speak ended before it was started', SLOW, async () => {
    host.speakUntil(systemClock.now());
    const { second } = await fillFirst();
    const next = await openRoomIn(second);
    play(next);
    await systemClock.sleep(1_500);
    expect(next.caller.loudBlocks).toBe(0);
    host.speakUntil(Number.POSITIVE_INFINITY);
    await expect.poll(() => next.caller.loudBlocks, PATIENTLY).toBeGreaterThan(50);
    await leave(next);
  });

  itNeeds(NEEDS)(
    'ends only its own calls when it crashes; only the one that takes new calls is started again',
    SLOW,
    async () => {
      const { going, first, second } = await fillFirst();
      const next = await openRoomIn(second);
      process.kill(first, 'SIGKILL');
      expect(await going.log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'failed' });
      await hears(next);
      expect(webProcesses()).toEqual([second]);
      process.kill(second, 'SIGKILL');
      expect(await next.log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'failed' });
      await expect.poll(() => webProcesses().length, PATIENTLY).toBe(1);
      await leave(await openRoom());
      for (const { caller } of [going, next]) await caller.leave();
    },
  );
});

/**
 * Kills the second process when it starts, or when it has loaded WebRTC's library; false if it had LiveKit's
 * by then, so that it may have been ready.
 */
async function killNext(first: number, moment: string): Promise<boolean> {
  const deadlineMs = systemClock.now() + LIMIT_MS;
  while (systemClock.now() < deadlineMs) {
    const next = webProcesses().find((pid) => pid !== first);
    if (next !== undefined && (moment === 'starts' || hasLoaded(next, 'wrtc.node'))) {
      process.kill(next, 'SIGSTOP');
      while (!isStopped(next)) await systemClock.sleep(1);
      const isInTime = !hasLoaded(next, 'rtc-node');
      process.kill(next, 'SIGKILL');
      return isInTime;
    }
    await systemClock.sleep(2);
  }
  throw new Error('no second process');
}

/** `proc(5)`, stat. */
function isStopped(pid: number): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T ');
}

function hasLoaded(pid: number, library: string): boolean {
  return readFileSync(`/proc/${pid}/maps`, 'utf8').includes(library);
}

/** Whether a process has a connection to this local port (`proc(5)`, net/tcp). */
function isConnectedTo(pid: number, port: number): boolean {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const connections = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter(([, , to, state]) => to?.endsWith(remote) && state === ESTABLISHED);
  const sockets = new Set(connections.map((fields) => `socket:[${fields[9]}]`));
  return readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return '';
  }
}
