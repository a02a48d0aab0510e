/**
 * LiveKit's room service without media, for tests of room membership: its Twirp API (JSON over HTTP), with
 * rooms controlled by the test.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const API_KEY = 'devkey';
const API_SECRET = 'a-secret-of-the-tests-that-is-long-enough';

/** A running service. */
export interface LivekitRooms {
  /** Settings that point Parley at the server. */
  readonly environment: Readonly<Record<'LIVEKIT_URL' | 'LIVEKIT_API_KEY' | 'LIVEKIT_API_SECRET', string>>;
  /** Rooms by name, with the identities of their participants. */
  readonly rooms: Map<string, string[]>;
  /** How long each created room may be empty, seconds. */
  readonly emptyTimeouts: Map<string, number>;
  close(): Promise<void>;
}

export async function startLivekitRooms(): Promise<LivekitRooms> {
  const rooms = new Map<string, string[]>();
  const emptyTimeouts = new Map<string, number>();
  const methods: Readonly<
    Record<string, (request: { name?: string; room?: string; emptyTimeout?: number }) => object>
  > = {
    CreateRoom: ({ name = '', emptyTimeout = 0 }) => {
      rooms.set(name, []);
      emptyTimeouts.set(name, emptyTimeout);
      return { name };
    },
    DeleteRoom: ({ room = '' }) => {
      rooms.delete(room);
      return {};
    },
    ListRooms: () => ({ rooms: [...rooms.keys()].map((name) => ({ name })) }),
    ListParticipants: ({ room = '' }) => ({
      participants: (rooms.get(room) ?? []).map((identity) => ({ identity })),
    }),
  };
  const server = createServer(async (request, response) => {
    const method = methods[request.url?.replace('/twirp/livekit.RoomService/', '') ?? ''];
    const isAllowed = request.headers.authorization?.startsWith('Bearer ') ?? false;
    const answer = method && isAllowed ? method((await json(request)) as object) : null;
    response
      .writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { code: 'bad_route' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    environment: {
      LIVEKIT_URL: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
      LIVEKIT_API_KEY: API_KEY,
      LIVEKIT_API_SECRET: API_SECRET,
    },
    rooms,
    emptyTimeouts,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
