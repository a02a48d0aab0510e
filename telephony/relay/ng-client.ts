/** A client of rtpengine's control protocol, `ng`: bencoded commands over UDP, repeated until answered. */
import { createSocket, type Socket } from 'node:dgram';
import { isIP } from 'node:net';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { hostPort } from '#base/public-address.ts';
import { decodeBencode, encodeBencode } from './bencode.ts';

/** A command; names are those of the protocol (`call-id`, `from-tag`, …). */
export interface NgCommand {
  readonly command: 'ping' | 'offer' | 'answer' | 'delete';
  readonly [parameter: string]: string | number | readonly string[];
}

/** The answer to a command. */
export interface NgReply {
  /** `ok`, or `pong` in answer to a ping. */
  readonly result: string;
  /** The session description that replaces the given one. */
  readonly sdp?: string | undefined;
}

/** Thrown if rtpengine did not answer in time. */
export class NgSilent extends Error {}

/** Thrown if rtpengine refused; the message is its own. */
export class NgRefused extends Error {}

/** One rtpengine. */
export interface NgClient {
  /** Address of its control port, `host:port`. */
  readonly name: string;
  /** Rejects with `NgSilent` or `NgRefused`. */
  ask(command: NgCommand): Promise<NgReply>;
  close(): void;
}

/** What the client needs. */
export interface NgClientDeps {
  readonly clock: Clock;
  /**
   * Generates a unique cookie: rtpengine answers the same cookie with the same answer, so a repeated command
   * is carried out once.
   */
  readonly cookie: () => string;
}

/** A command without an answer yet. */
interface PendingCommand {
  readonly datagram: Uint8Array;
  readonly settle: { readonly resolve: (reply: NgReply) => void; readonly reject: (error: Error) => void };
  sent: number;
  timer: Timer | null;
}

const dictionary = z.instanceof(Map);
/** A description is no longer than SIP can carry; the rest of the answer is only logged. */
const replySchema = z.object({
  result: z.string().max(64),
  sdp: z.string().max(60_000).optional(),
  'error-reason': z.string().optional(),
});
const MAX_REASON_CHARS = 200;
/** Wait before a command is repeated: a local daemon answers within a millisecond or two. */
const RETRY_MS = 250;
const MAX_ATTEMPTS = 5;
/** Separates the cookie from the command. */
const SPACE = 0x20;

/** Creates a client of the rtpengine at this address; looks names up when a command is sent. */
export function createNgClient(
  { host, port }: { readonly host: string; readonly port: number },
  deps: NgClientDeps,
): NgClient {
  const name = hostPort(host, port);
  const commands = new Map<string, PendingCommand>();
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  socket.on('message', (datagram) => {
    const space = datagram.indexOf(SPACE);
    const cookie = datagram.subarray(0, Math.max(space, 0)).toString('latin1');
    const pending = commands.get(cookie);
    if (!pending) return;
    commands.delete(cookie);
    pending.timer?.cancel();
    try {
      pending.settle.resolve(readReply(datagram.subarray(space + 1)));
    } catch (error) {
      pending.settle.reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
  // The port is closed: rtpengine may be back before the last attempt.
  socket.on('error', () => undefined);
  let connecting: Promise<void> | null = null;

  /** Looks a name up again if it could not be resolved or its address did not answer. */
  function forgetAddress(): void {
    connecting?.then(() => socket.disconnect()).catch(() => undefined);
    connecting = null;
  }

  function send(cookie: string, pending: PendingCommand): void {
    if (pending.sent === MAX_ATTEMPTS) {
      commands.delete(cookie);
      forgetAddress();
      pending.settle.reject(new NgSilent(`rtpengine at ${name} does not answer`));
      return;
    }
    pending.sent += 1;
    pending.timer = deps.clock.after(RETRY_MS, () => send(cookie, pending));
    connecting ??= connect(socket, { host, port });
    connecting.then(() => socket.send(pending.datagram)).catch(forgetAddress);
  }

  return {
    name,
    ask(command) {
      const { promise, resolve, reject } = Promise.withResolvers<NgReply>();
      const cookie = deps.cookie();
      const datagram = Buffer.concat([Buffer.from(`${cookie} `, 'latin1'), encodeBencode(command)]);
      const pending: PendingCommand = { datagram, settle: { resolve, reject }, sent: 0, timer: null };
      commands.set(cookie, pending);
      send(cookie, pending);
      return promise;
    },
    close() {
      for (const { timer, settle } of commands.values()) {
        timer?.cancel();
        settle.reject(new NgSilent(`the client of rtpengine at ${name} is closed`));
      }
      commands.clear();
      (connecting ?? Promise.resolve()).finally(() => socket.close()).catch(() => undefined);
    },
  };
}

/**
 * Accepts answers only from this address. A name that cannot be resolved counts as an address that does not
 * answer.
 */
function connect(
  socket: Socket,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.connect(port, host, (error?: Error) => (error ? reject(error) : resolve()));
  });
}

function readReply(body: Uint8Array): NgReply {
  const {
    result,
    sdp,
    'error-reason': reason,
  } = replySchema.parse(Object.fromEntries(dictionary.parse(decodeBencode(body))));
  if (result === 'error')
    throw new NgRefused(`rtpengine: ${reason?.slice(0, MAX_REASON_CHARS) ?? 'refused without a reason'}`);
  return { result, sdp };
}
