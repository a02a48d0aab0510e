/**
 * `npm run soak:livekit [-- <interruptions>]`: interruptions in real LiveKit rooms (500 by default), each
 * followed by speech that must be heard. Fails if the output stays silent, or if rooms, file handles or
 * memory of the media process remain at the end.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { agentIdentity, callerIdentity, openRooms, type Rooms } from '#control-plane/platform/rooms.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';

const INTERRUPTIONS = Number(process.argv[2] ?? 500);
const PER_ROOM = 25;
const LIMIT_MS = 20_000;
/** Maximum memory growth of the media process since its first rooms. */
const MEMORY_LIMIT_MB = 60;
const HANDLE_LIMIT = 10;
const SPOKEN_MS = 120;

interface Footprint {
  readonly memoryMb: number;
  readonly handles: number;
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
let first: Footprint | null = null;
for (let done = 0; done < INTERRUPTIONS; done += PER_ROOM) {
  await converse(rooms, host, Math.min(PER_ROOM, INTERRUPTIONS - done));
  // The baseline is taken later because the first rooms load the library and fill its pools.
  if (done >= 2 * PER_ROOM) first ??= footprint();
}
const last = footprint();
const left = await rooms.list();
await host.close();
await server.close();
const grown = {
  memoryMb: last.memoryMb - (first ?? last).memoryMb,
  handles: last.handles - (first ?? last).handles,
};
console.log(JSON.stringify({ interruptions: INTERRUPTIONS, wedged: 0, roomsLeft: left.length, last, grown }));
const isClean = left.length === 0 && grown.memoryMb <= MEMORY_LIMIT_MB && grown.handles <= HANDLE_LIMIT;
console.log(isClean ? 'clean' : 'NOT CLEAN');
process.exit(isClean ? 0 : 1);

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
  const caller = await LivekitCaller.join(
    rooms.url,
    await rooms.token({ room, identity: callerIdentity(room), role: 'caller', ttlSeconds: 60 }),
  );
  await log.next('connected', undefined, LIMIT_MS);
  for (let round = 0; round < interruptions; round++) {
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
  await caller.leave();
  await log.next('closed', undefined, LIMIT_MS);
  await rooms.remove(room);
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
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { memoryMb: Math.round(kilobytes / 1024), handles: readdirSync(`/proc/${pid}/fd`).length };
}
