/** What a room leaves behind in LiveKit's library, which is loaded into this process. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { agentIdentity, callerIdentity } from '#control-plane/platform/rooms.ts';
import { EventBatcher } from '#media/leg/event-batch.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { thisThread } from '#media/leg/pacer-thread.ts';
import { openLivekitSession, warmUpLivekit } from '#media/livekit/livekit-leg.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';
import { startLivekitServer } from '../../fakes/livekit-server.ts';
import { mediaShared } from '../../fakes/media-shared.ts';
import { describeNeeds, itNeeds } from '../../needs.ts';

const NEEDS = ['livekit-server'];

describeNeeds(NEEDS)('a room that has ended', () => {
  itNeeds(NEEDS)('no longer listens to the events of others, though the server ended it', async () => {
    const server = await startLivekitServer();
    const rooms = openRooms(
      readSettings(server.environment),
      createLogger({ level: 'silent', name: 'test' }),
    );
    if (!rooms) throw new Error('no rooms');
    const detector = new SpeechDetector(systemClock, () => undefined);
    await warmUpLivekit();
    const listeners = () => globalThis._ffiClientInstance?.listenerCount('ffi_event');
    const before = listeners();
    const room = `room-${randomBytes(6).toString('hex')}`;
    await rooms.create(room, 60);
    const closed = Promise.withResolvers<void>();
    const pacer = new Pacer(systemClock, () => undefined, thisThread);
    await openLivekitSession(
      {
        leg: 1,
        url: rooms.url,
        token: await rooms.token({ room, identity: agentIdentity(room), role: 'agent', ttlSeconds: 60 }),
        callerIdentity: callerIdentity(room),
        recording: null,
        mayRejoin: true,
        onClosed: () => closed.resolve(),
      },
      mediaShared({ clock: systemClock, pacer, events: new EventBatcher(), detector }),
    );
    expect(listeners()).toBeGreaterThan(before ?? Number.NaN);
    await rooms.remove(room);
    await closed.promise;
    expect(listeners()).toBe(before);
    pacer.close();
    await detector.close();
    await server.close();
  });
});
