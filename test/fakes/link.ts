/**
 * A TCP relay that can cut, hold or fragment its connections; clients connect to it instead of to the target.
 */
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A relay on the loopback. */
export interface Link {
  readonly port: number;
  /** Resets every connection and accepts none until `mend`. */
  cut(): void;
  mend(): void;
  /** Like a process that is killed: resets every connection, and nothing listens any more. */
  kill(): void;
  /** Holds back all data, on new connections too, until `release`. */
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

/**
 * Relays a port of its own, at `address`, to `targetPort` of the loopback, in pieces of at most `pieceBytes`
 * if given.
 */
export async function openLink(
  targetPort: number,
  { pieceBytes, address = '127.0.0.1' }: { readonly pieceBytes?: number; readonly address?: string } = {},
): Promise<Link> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHeld = false;
  const server = createServer((near) => {
    if (isCut) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (pieceBytes === undefined) socket.pipe(other);
      else socket.pipe(inPieces(pieceBytes)).pipe(other);
      if (isHeld) socket.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    mend() {
      isCut = false;
    },
    kill() {
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Sends each piece in its own event-loop turn, so the reader has read the previous one. */
function inPieces(bytes: number): Transform {
  return new Transform({
    async transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; at += bytes) {
        this.push(chunk.subarray(at, at + bytes));
        await nextTurn();
      }
      done();
    },
  });
}
