/**
 * Asks an rtpengine by its control protocol, `ng`: bencoded commands over UDP, sent again until they are
 * answered.
 */
import { createSocket, type Socket } from 'node:dgram';
import { isIP } from 'node:net';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { hostPort } from '#base/public-address.ts';
import { decodeBencode, encodeBencode } from './bencode.ts';

/** What an rtpengine is told: its names are those of the protocol (`call-id`, `from-tag`, …). */
export interface NgCommand {
  readonly command: 'ping' | 'offer' | 'answer' | 'delete';
  readonly [parameter: string]: string | number | readonly string[];
}

/** What it says to that. */
export interface NgReply {
  /** `ok`, or `pong` to a ping. */
  readonly result: string;
  /** The session description it made of the one it was given. */
  readonly sdp?: string | undefined;
}

/** Thrown when an rtpengine has not answered in time. */
export class NgSilent extends Error {}

/** Thrown when an rtpengine has answered that it will not; the message is its own. */
export class NgRefused extends Error {}

/** One rtpengine. */
export interface NgClient {
  /** Where it is asked, `host:port`. */
  readonly name: string;
  /** Rejects with `NgSilent` or `NgRefused`. */
  ask(command: NgCommand): Promise<NgReply>;
  close(): void;
}

/** What asking needs. */
export interface NgClientDeps {
  readonly clock: Clock;
  /**
   * Makes a word nobody else uses: an rtpengine answers the same one the same way, so that a command sent
   * twice is done once.
   */
  readonly cookie: () => string;
}

interface Question {
  readonly datagram: Uint8Array;
  readonly settle: { readonly resolve: (reply: NgReply) => void; readonly reject: (error: Error) => void };
  sent: number;
  timer: Timer | null;
}

const dictionary = z.instanceof(Map);
/** A description is no longer than one that SIP could carry; what a relay says beside it is for the log. */
const replySchema = z.object({
  result: z.string().max(64),
  sdp: z.string().max(60_000).optional(),
  'error-reason': z.string().optional(),
});
const MAX_REASON_CHARS = 200;
/** A local daemon answers within a millisecond or two: what is not there by then was lost. */
const AGAIN_MS = 250;
const TIMES = 5;
/** Separates the cookie from what follows it. */
const SPACE = 0x20;

/** Asks the rtpengine at this address; names are looked up when a command is sent. */
export function createNgClient(
  { host, port }: { readonly host: string; readonly port: number },
  deps: NgClientDeps,
): NgClient {
  const name = hostPort(host, port);
  const questions = new Map<string, Question>();
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  socket.on('message', (datagram) => {
    const space = datagram.indexOf(SPACE);
    const cookie = datagram.subarray(0, Math.max(space, 0)).toString('latin1');
    const question = questions.get(cookie);
    if (!question) return;
    questions.delete(cookie);
    question.timer?.cancel();
    try {
      question.settle.resolve(readReply(datagram.subarray(space + 1)));
    } catch (error) {
      question.settle.reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
  // A port where nobody listens: it may be back before the last of the tries.
  socket.on('error', () => undefined);
  let connecting: Promise<void> | null = null;

  /** A name that could not be looked up is looked up again, and so is one whose address has been silent. */
  function forgetAddress(): void {
    connecting?.then(() => socket.disconnect()).catch(() => undefined);
    connecting = null;
  }

  function send(cookie: string, question: Question): void {
    if (question.sent === TIMES) {
      questions.delete(cookie);
      forgetAddress();
      question.settle.reject(new NgSilent(`rtpengine at ${name} does not answer`));
      return;
    }
    question.sent += 1;
    question.timer = deps.clock.after(AGAIN_MS, () => send(cookie, question));
    connecting ??= connect(socket, { host, port });
    connecting.then(() => socket.send(question.datagram)).catch(forgetAddress);
  }

  return {
    name,
    ask(command) {
      const { promise, resolve, reject } = Promise.withResolvers<NgReply>();
      const cookie = deps.cookie();
      const datagram = Buffer.concat([Buffer.from(`${cookie} `, 'latin1'), encodeBencode(command)]);
      const question: Question = { datagram, settle: { resolve, reject }, sent: 0, timer: null };
      questions.set(cookie, question);
      send(cookie, question);
      return promise;
    },
    close() {
      for (const { timer, settle } of questions.values()) {
        timer?.cancel();
        settle.reject(new NgSilent(`rtpengine at ${name} is asked no more`));
      }
      questions.clear();
      (connecting ?? Promise.resolve()).finally(() => socket.close()).catch(() => undefined);
    },
  };
}

/**
 * Only what comes from there is heard. A name that cannot be looked up is an address that does not answer.
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
