import { beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '#media/leg/leg-factory.ts';
import { WarmUp } from '#processes/warm-up.ts';

let loaded: (readonly Transport[])[];
let warmUp: WarmUp;
beforeEach(() => {
  loaded = [];
  warmUp = new WarmUp({ warmUp: (transports) => loaded.push(transports) });
});

describe('a worker', () => {
  it('loads nothing before it is ready', () => {
    warmUp.addRooms();
    expect(loaded).toEqual([]);
  });

  it('does not load the library of rooms if there are none', () => {
    warmUp.begin(['phone', 'web', 'analysis']);
    expect(loaded).toEqual([['rtp', 'webrtc']]);
  });

  it('loads the library of rooms if web calls are in rooms', () => {
    warmUp.addRooms();
    warmUp.begin(['phone', 'web']);
    expect(loaded).toEqual([['rtp', 'livekit']]);
  });

  it('loads the library of rooms once it learns of them', () => {
    warmUp.begin(['web']);
    warmUp.addRooms();
    expect(loaded).toEqual([['webrtc'], ['livekit']]);
  });

  it('loads the library of rooms once, though it learns of them at each registration', () => {
    warmUp.begin(['web']);
    for (let registration = 0; registration < 3; registration++) warmUp.addRooms();
    expect(loaded).toHaveLength(2);
  });

  it('loads nothing of web calls if it takes none', () => {
    warmUp.begin(['phone']);
    warmUp.addRooms();
    expect(loaded).toEqual([['rtp']]);
  });
});
