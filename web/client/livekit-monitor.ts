/** Listens to a LiveKit room without being seen or heard: every voice in it is played (`POST …/monitor` gives the token). */
import { ConnectionState, Room, RoomEvent, Track } from 'livekit-client';
import type { RoomGrant } from './wire.ts';

/** Somebody who listens. */
export interface Monitor {
  leave(): void;
}

/** Joins; `onOver` is told when the room is gone. Rejects when it cannot be reached. */
export async function joinAsMonitor(grant: Pick<RoomGrant, 'livekit_url' | 'token'>, onOver: () => void): Promise<Monitor> {
  const room = new Room();
  room
    .on(RoomEvent.TrackSubscribed, (track) => {
      if (track.kind === Track.Kind.Audio) track.attach();
    })
    .on(RoomEvent.TrackUnsubscribed, (track) => {
      track.detach();
    })
    .on(RoomEvent.Disconnected, onOver);
  await room.connect(grant.livekit_url, grant.token);
  return {
    leave() {
      if (room.state !== ConnectionState.Disconnected) void room.disconnect();
    },
  };
}
