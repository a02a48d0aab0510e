/**
 * A stand-in for MongoDB over TCP: an embedded database behind a server that presents itself as a replica
 * set, and fails as one does: it hangs, refuses connections, steps down, answers late, or loses an answer
 * after the write was applied.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'bson';
import { startEmbeddedDatabase } from '#control-plane/platform/store/embedded/embedded-database.ts';
import {
  frameReply,
  MessageSplitter,
  parseMessage,
  type Request,
} from '#control-plane/platform/store/embedded/wire.ts';
import { startInSharedThread } from '#test/control-plane/store-threads.ts';

/** A command as the server received it. */
export interface ReceivedCommand {
  /** Such as `insert`. */
  readonly name: string;
  readonly collection: string;
}

/** What happens to one command. */
export type CommandFault =
  /** It is applied; the connection breaks before its answer. */
  | { readonly is: 'answer_lost' }
  /** The connection breaks before it is applied. */
  | { readonly is: 'command_lost' }
  /** It is not applied and answered with this error code. */
  | { readonly is: 'refused'; readonly code: number }
  /**
   * It is applied; a write's answer has this error of its write concern, as that of a primary that steps down
   * before a majority has the write.
   */
  | { readonly is: 'applied_then'; readonly code: number }
  /** It is applied; its answer waits for `thaw`, as that of a write waits for a majority. */
  | { readonly is: 'held' };

/** A running stand-in. */
export interface MongodbServer {
  /** Connects to one member, whatever its state. */
  readonly url: string;
  /** Connects to the replica set, whose primary is found by its answers. */
  readonly setUrl: string;
  /** Decides the fate of every command but the driver's own; null leaves it alone. */
  faultOf: (command: ReceivedCommand) => CommandFault | null;
  /** From now on the server accepts connections and requests but never answers. */
  freeze(): void;
  /**
   * Ends `freeze`: what was received meanwhile is applied now, as by a process that was stopped. Held answers
   * are sent.
   */
  thaw(): void;
  /** Ends all connections, as a server does that stops, and refuses new ones. */
  refuse(): void;
  /** Ends `refuse`. */
  accept(): Promise<void>;
  /** No longer primary: commands are answered with `code`. */
  stepDown(code?: number): void;
  /** Primary again. */
  stepUp(): void;
  close(): Promise<void>;
}

/** What the server reports about itself; defaults to its real answers. */
export interface MongodbAnswers {
  readonly version?: string;
  readonly members?: number;
  /** How far its clock is ahead of this machine's, ms. */
  readonly aheadMs?: number;
}

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify']);
const SET_NAME = 'rs';
const NOT_WRITABLE_PRIMARY = 10_107;
/** Commands of the driver itself, which no request causes. */
const OF_THE_DRIVER = new Set(['hello', 'ismaster', 'ping', 'endsessions', 'buildinfo']);
/** Errors that MongoDB labels as such for a write that can be repeated (driver specification). */
const RETRYABLE = new Set([6, 7, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436]);

export async function startMongodbServer(answers: MongodbAnswers = {}): Promise<MongodbServer> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-mongodb-'));
  const database = await startEmbeddedDatabase({
    directory,
    startThread: startInSharedThread,
    onFatal: (error) => {
      throw error;
    },
  });
  const sockets = new Set<Socket>();
  const frozen: (() => void)[] = [];
  let isFrozen = false;
  let thaws = 0;
  let refusalCode: number | null = null;

  const server = createServer((client) => {
    const upstream = connect(join(directory, 'database.sock'));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    // The driver sends a command only after the answer to the one before.
    let answering: CommandFault | null = null;
    let heldSince = -1;
    client.on('close', () => {
      // What was received before is applied first.
      if (isFrozen) frozen.push(() => upstream.end());
      else if (answering?.is !== 'answer_lost') upstream.end();
    });
    const replies = new MessageSplitter();
    upstream.on('data', (chunk) => {
      const pass = () => void (client.destroyed || client.write(chunk));
      if (answering?.is === 'answer_lost') {
        client.destroy();
        upstream.end();
      } else if (answering?.is === 'applied_then') {
        const { code } = answering;
        for (const reply of replies.push(chunk)) client.write(withConcernError(reply, code));
      } else if (isFrozen || heldSince === thaws) frozen.push(pass);
      else pass();
    });
    const splitter = new MessageSplitter();
    const handle = (message: Buffer) => {
      const request = parseMessage(message);
      const own = ownAnswer(request);
      if (own) {
        client.write(own);
        return;
      }
      answering = faultOf(request);
      heldSince = answering?.is === 'held' ? thaws : -1;
      if (answering?.is === 'command_lost') client.destroy();
      else if (answering?.is === 'refused') client.write(refusal(request, answering.code));
      else upstream.write(message);
    };
    client.on('data', (chunk) => {
      for (const message of splitter.push(chunk))
        if (isFrozen) frozen.push(() => handle(message));
        else handle(message);
    });
  });

  function faultOf({ command }: Request): CommandFault | null {
    const [name = ''] = Object.keys(command);
    if (OF_THE_DRIVER.has(name.toLowerCase())) return null;
    if (refusalCode !== null) return { is: 'refused', code: refusalCode };
    const fault = self.faultOf({ name, collection: String(command[name]) });
    return fault?.is === 'applied_then' && !WRITES.has(name) ? null : fault;
  }

  function ownAnswer(request: Request): Buffer | null {
    const name = Object.keys(request.command)[0]?.toLowerCase();
    const { version, members = 1, aheadMs = 0 } = answers;
    if (version !== undefined && name === 'buildinfo') return frameReply(request, { version });
    if (name !== 'hello' && name !== 'ismaster') return null;
    const hosts = Array.from({ length: members }, (_, member) => `127.0.0.1:${port + member}`);
    const isPrimary = refusalCode === null;
    return frameReply(request, {
      helloOk: true,
      isWritablePrimary: isPrimary,
      ismaster: isPrimary,
      secondary: !isPrimary,
      setName: SET_NAME,
      setVersion: 1,
      hosts,
      me: hosts[0],
      ...(isPrimary && { primary: hosts[0] }),
      localTime: new Date(Date.now() + aheadMs),
      logicalSessionTimeoutMinutes: 30,
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      minWireVersion: 0,
      maxWireVersion: 21,
    });
  }

  const listen = (at: number) =>
    new Promise<void>((resolve) => server.listen(at, '127.0.0.1', () => resolve()));
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const self: MongodbServer = {
    url: `mongodb://127.0.0.1:${port}/parley?directConnection=true`,
    setUrl: `mongodb://127.0.0.1:${port}/parley?replicaSet=${SET_NAME}`,
    faultOf: () => null,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
      thaws++;
      for (const go of frozen.splice(0)) go();
    },
    refuse: () => {
      server.close();
      for (const socket of sockets) socket.end();
    },
    accept: () => listen(port),
    stepDown: (code = NOT_WRITABLE_PRIMARY) => {
      refusalCode = code;
    },
    stepUp: () => {
      refusalCode = null;
    },
    close: async () => {
      breakAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await database.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return self;
}

/** The answer to an applied write, with another field. 21 bytes of header and flags precede the document. */
function withConcernError(reply: Buffer, code: number): Buffer {
  const more = serialize({
    writeConcernError: { code, errmsg: 'not known to a majority' },
    ...(RETRYABLE.has(code) && { errorLabels: ['RetryableWriteError'] }),
  });
  const answer = Buffer.concat([reply.subarray(0, -1), more.subarray(4)]);
  answer.writeInt32LE(answer.length, 0);
  answer.writeInt32LE(answer.length - 21, 21);
  return answer;
}

function refusal(request: Request, code: number): Buffer {
  const canRepeat = request.command['txnNumber'] !== undefined && RETRYABLE.has(code);
  return frameReply(request, {
    ok: 0,
    code,
    errmsg: 'not primary',
    ...(canRepeat && { errorLabels: ['RetryableWriteError'] }),
  });
}
