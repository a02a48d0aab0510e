/**
 * `npm run soak:livekit [-- <interruptions> [<sessions>]]`, in rooms of a real LiveKit server: interruptions
 * of the agent (500 by default), each followed by speech that must be heard, then short sessions (1,000 by
 * default), a few at a time. Prints the footprint of the media process on the way. Fails if the output stays
 * silent, or if rooms, file handles, threads or memory remain at the end. A few visits may fail, which a busy
 * machine is too slow for; each is printed with its reason. `NODE_ENV` keeps LiveKit's library from logging
 * every detail.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { agentIdentity, callerIdentity, openRooms, type Rooms } from '#control-plane/platform/rooms.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';

const INTERRUPTIONS = Number(process.argv[2] ?? 500);
const SESSIONS = Number(process.argv[3] ?? 1_000);
const PER_ROOM = 25;
/** Sessions at once, and between two footprints. */
const AT_ONCE = 4;
const PER_FOOTPRINT = 100;
const LIMIT_MS = 60_000;
/** Maximum growth since the first rooms, which load the library and fill its pools. */
const LIMITS = { memoryMb: 60, handles: 10, threads: 20 };
const MOST_FAILED_VISITS = SESSIONS / 50;
const SPOKEN_MS = 120;

interface Footprint {
  readonly memoryMb: number;
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
const isClean =
  left.length === 0 && failures.length <= MOST_FAILED_VISITS && [interrupted, visited].every(isWithinLimits);
console.log(JSON.stringify({ interrupted, visited, roomsLeft: left.length, failures }));
console.log(isClean ? 'clean' : 'NOT CLEAN');
process.exit(isClean ? 0 : 1);

/** Works until `total` is done, and returns how the footprint grew after the first `warmUp`. */
async function grown(
  total: number,
  warmUp: number,
  work: (done: number) => Promise<number>,
): Promise<Footprint> {
  let first: Footprint | null = null;
  let last: Footprint = { memoryMb: 0, handles: 0, threads: 0 };
  for (let done = 0; done < total; ) {
    done += await work(done);
    last = footprint();
    console.log(JSON.stringify({ done, ...last }));
    if (done >= warmUp) first ??= last;
  }
  const { memoryMb, handles, threads } = first ?? last;
  return {
    memoryMb: last.memoryMb - memoryMb,
    handles: last.handles - handles,
    threads: last.threads - threads,
  };
}

function isWithinLimits({ memoryMb, handles, threads }: Footprint): boolean {
  return memoryMb <= LIMITS.memoryMb && handles <= LIMITS.handles && threads <= LIMITS.threads;
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
    await log.next('connected', undefined, LIMIT_MS);
    for (let round = 0; round < interruptions; round++) await interrupt({ leg, log, caller }, round);
    await caller.leave();
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

/** Footprint of the process that hosts the rooms. */
function footprint(): Footprint {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  const pid =
    children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('media-thread-entry')) ??
    '';
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    memoryMb: Math.round(figure('VmRSS') / 1024),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: figure('Threads'),
  };
}
