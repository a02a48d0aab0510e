/**
 * `npm run soak:livekit [-- <interruptions> [<sessions>]]`, in rooms of a real LiveKit server: interruptions
 * of the agent (500 by default), each followed by speech that must be heard, then short sessions (1,000 by
 * default), a few at a time. Prints the footprint of all media processes on the way: one takes the place of
 * another after some hundred rooms, and both run for a moment (`togetherMb`), the longer the busier the
 * machine is. Fails if the output stays silent, if rooms, file handles or threads remain at the end, or if
 * the memory of a process (`peakMb`) is not flat or cannot be judged, for which there must be 700 sessions.
 * A few visits may fail, which a busy machine is too slow for; each is printed with its reason. `NODE_ENV`
 * keeps LiveKit's library from logging every detail.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { agentIdentity, callerIdentity, type Rooms } from '#control-plane/platform/rooms.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';
import { webProcesses } from '#test/fakes/web-processes.ts';

const INTERRUPTIONS = Number(process.argv[2] ?? 500);
const SESSIONS = Number(process.argv[3] ?? 1_000);
const PER_ROOM = 25;
/** Sessions at once, and between two footprints. */
const AT_ONCE = 4;
const PER_FOOTPRINT = 100;
const LIMIT_MS = 60_000;
/** Maximum growth since the first rooms, which load the library and fill its pools. */
const LIMITS = { memoryMb: 60, handles: 10, threads: 20 };
/** Memory is flat if its peak over the last sessions is at most so much above that over the first ones. */
const MOST_GROWTH = 1.1;
const PEAK_EVERY_MS = 250;
/** Memory is compared between thirds, each of which has at least a change of processes: every 200 rooms. */
const LEAST_FOOTPRINTS = 3 * 2;
const MOST_FAILED_VISITS = SESSIONS / 50;
const SPOKEN_MS = 120;

/** Of the process that hosts rooms. */
interface Footprint {
  readonly pid: number;
  readonly memoryMb: number;
  /** The most memory that one of them had since the last footprint. */
  readonly peakMb: number;
  /** The most that all had together. */
  readonly togetherMb: number;
  readonly handles: number;
  readonly threads: number;
}

const server = await startLivekitServer();
const logger = createLogger({ level: 'warn', name: 'soak' });
const rooms = openRooms(readSettings(server.environment), logger);
if (!rooms) throw new Error('no rooms');
const host = await startMediaThread({
  rtpPortMin: 22_500,
  rtpPortMax: 22_599,
  iceServers: [],
  clock: systemClock,
  logger,
});
let [peakMb, togetherMb] = [0, 0];
const watching = systemClock.every(PEAK_EVERY_MS, watch);
const interrupted = await grown(INTERRUPTIONS, 2 * PER_ROOM, async (done) => {
  const interruptions = Math.min(PER_ROOM, INTERRUPTIONS - done);
  await converse(rooms, host, interruptions);
  return interruptions;
});
const failures: string[] = [];
const visited = await grown(SESSIONS, 2 * PER_FOOTPRINT, async () => {
  const visitors = Array.from({ length: AT_ONCE }, async () => {
    for (let visit = 0; visit < PER_FOOTPRINT / AT_ONCE; visit++)
      await converse(rooms, host, 1).catch((error: unknown) => {
        failures.push(String(error));
        console.log(JSON.stringify({ failed: String(error) }));
      });
  });
  await Promise.all(visitors);
  return PER_FOOTPRINT;
});
const left = await rooms.list();
await host.close();
await server.close();
watching.cancel();
const memory = memoryOf(visited);
const isClean =
  left.length === 0 &&
  failures.length <= MOST_FAILED_VISITS &&
  [interrupted, visited].every(hasNoLeaks) &&
  memoryGrowthMb(interrupted) <= LIMITS.memoryMb &&
  visited.length >= LEAST_FOOTPRINTS &&
  memory.lastMb <= memory.firstMb * MOST_GROWTH;
console.log(JSON.stringify({ memory, roomsLeft: left.length, failures }));
console.log(isClean ? 'clean' : 'NOT CLEAN');
process.exit(isClean ? 0 : 1);

/** Works until `total` is done, and returns the footprints after the first `warmUp`. */
async function grown(
  total: number,
  warmUp: number,
  work: (done: number) => Promise<number>,
): Promise<readonly Footprint[]> {
  const footprints: Footprint[] = [];
  for (let done = 0; done < total; ) {
    done += await work(done);
    const last = await footprint();
    console.log(JSON.stringify({ done, ...last }));
    if (done >= warmUp) footprints.push(last);
  }
  return footprints;
}

/** Compares each process with itself: some have more handles than others from their start. */
function hasNoLeaks(footprints: readonly Footprint[]): boolean {
  const processes = Object.values(Object.groupBy(footprints, ({ pid }) => pid));
  return processes.every((own = []) =>
    (['handles', 'threads'] as const).every((figure) => {
      const [first = 0, ...later] = own.map((each) => each[figure]);
      return (later.at(-1) ?? first) - first <= LIMITS[figure];
    }),
  );
}

function thirdsOf<One>(all: readonly One[]): {
  readonly first: readonly One[];
  readonly last: readonly One[];
} {
  const third = Math.ceil(all.length / 3);
  return { first: all.slice(0, third), last: all.slice(-third) };
}

function memoryGrowthMb(footprints: readonly Footprint[]): number {
  return (footprints.at(-1)?.memoryMb ?? 0) - (footprints[0]?.memoryMb ?? 0);
}

/** The highest peaks of the first and of the last third, each with at least one change of processes. */
function memoryOf(footprints: readonly Footprint[]): { readonly firstMb: number; readonly lastMb: number } {
  const { first, last } = thirdsOf(footprints);
  const highest = (some: readonly Footprint[]) => Math.max(0, ...some.map((each) => each.peakMb));
  return { firstMb: highest(first), lastMb: highest(last) };
}

/** Interrupts the agent repeatedly in one room; throws if the agent is no longer heard. */
async function converse(rooms: Rooms, host: LegFactory, interruptions: number): Promise<void> {
  const room = `soak-${randomBytes(6).toString('hex')}`;
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
  try {
    const caller = await LivekitCaller.join(
      rooms.url,
      await rooms.token({ room, identity: callerIdentity(room), role: 'caller', ttlSeconds: 60 }),
    );
    try {
      await log.next('connected', undefined, LIMIT_MS);
      for (let round = 0; round < interruptions; round++) await interrupt({ leg, log, caller }, round);
    } finally {
      // Otherwise a caller whose visit failed would open the room again.
      await caller.leave();
    }
    await log.next('closed', undefined, LIMIT_MS);
  } finally {
    leg.send({ do: 'close' });
    await rooms.remove(room);
  }
}

interface Conversation {
  readonly leg: Leg;
  readonly log: LegLog;
  readonly caller: LivekitCaller;
}

async function interrupt({ leg, log, caller }: Conversation, round: number): Promise<void> {
  const samples = Int16Array.from(
    { length: leg.outRateHz * 2 },
    (_, n) => 8000 * Math.sin((2 * Math.PI * 440 * n) / leg.outRateHz),
  );
  const heardBefore = caller.loudBlocks;
  leg.send({ do: 'play', replyId: `r${round}`, pieceId: 0, samples, marks: Int32Array.of(), last: true });
  await until(
    () => caller.loudBlocks >= heardBefore + SPOKEN_MS / 10,
    `round ${round}: the agent is not heard`,
  );
  leg.send({ do: 'pause' });
  if (round % 2 === 0) leg.send({ do: 'resume' });
  leg.send({ do: 'clear' });
  await until(
    () => log.all('playout.cleared').length === round + 1,
    `round ${round}: the interruption is not answered`,
  );
}

async function until(condition: () => boolean, otherwise: string): Promise<void> {
  const deadlineMs = systemClock.now() + LIMIT_MS;
  while (!condition()) {
    if (systemClock.now() > deadlineMs) throw new Error(otherwise);
    await systemClock.sleep(10);
  }
}

/** Footprint of the processes, once a former one has ended. */
async function footprint(): Promise<Footprint> {
  await until(() => webProcesses().length === 1, 'a former process does not end');
  const [pid = 0] = webProcesses();
  const threads = /^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  watch();
  const peaks = { peakMb, togetherMb };
  [peakMb, togetherMb] = [0, 0];
  return {
    pid,
    memoryMb: memoryMb(pid),
    ...peaks,
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: Number(threads),
  };
}

function watch(): void {
  const each = webProcesses().map(memoryMb);
  peakMb = Math.max(peakMb, ...each);
  togetherMb = Math.max(
    togetherMb,
    each.reduce((sum, one) => sum + one, 0),
  );
}

/** Memory of a process, of shared pages its share (`proc(5)`, smaps_rollup). */
function memoryMb(pid: number): number {
  try {
    const kib = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
    return Math.round(Number(kib ?? 0) / 1024);
  } catch {
    // It has just ended.
    return 0;
  }
}
