/**
 * drachtio's protocol between a SIP server and its applications, server side: length-prefixed frames of
 * `|`-separated tokens, followed by an empty line and a SIP message. An application authenticates, names its
 * tags and subscribes to methods; requests are routed to it and it answers them.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { isSameSecret } from '#base/same-secret.ts';

/** The length of a frame has at most this many digits. */
const MAX_LENGTH_DIGITS = 6;
const MAX_FRAME_BYTES = 256 * 1024;
/** Without traffic for so long, the system asks whether the machine of an application is still there. */
const KEEP_ALIVE_MS = 30_000;
const CRLF = '\r\n';
/**
 * drachtio-srf reads the number. The suffix tells workers that this is the embedded server, which knows one
 * command more: `forget` with the id of a dialog that its worker has moved to another server.
 */
const PROTOCOL_VERSION = 'v0.9.4-parley';

/** A command from an application: its message id, its other tokens, and its SIP message. */
export interface AppCommand {
  readonly messageId: string;
  readonly tokens: readonly string[];
  readonly raw: string;
}

/** A connected, authenticated application. */
export interface App {
  readonly tags: ReadonlySet<string>;
  readonly verbs: ReadonlySet<string>;
  /** Sends a request, a response or an event to the application. */
  deliver(tokens: readonly string[], raw?: string): void;
  /** Answers a command: `OK` with tokens, or `NOK` with a reason. */
  answer(messageId: string, ok: boolean, tokens?: readonly string[], raw?: string): void;
  /** Closes the connection; the application may connect again. */
  close(): void;
}

/** Whether two connections are of the same worker, which keeps its tags when it connects again. */
export function isSameWorker(one: App, other: App): boolean {
  return [...one.tags].some((tag) => other.tags.has(tag));
}

/** Options of the application port. */
export interface AppPortOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly secret: string;
  /** The server's own address as `udp/ip:port`, sent to each application that connects. */
  hostPorts(): readonly string[];
  onSip(app: App, command: AppCommand): void;
  /** This dialog belongs to another server now: no message about it may be sent. */
  onForget(app: App, dialogId: string): void;
  /** The connection of an authenticated application has closed. */
  onLost(app: App): void;
}

/** Opens the port for applications. */
export async function openAppPort(
  options: AppPortOptions,
): Promise<{ readonly port: number; readonly apps: ReadonlySet<App>; close(): Promise<void> }> {
  const apps = new Set<App>();
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serveApp(socket, options, apps);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    apps,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function serveApp(socket: Socket, options: AppPortOptions, apps: Set<App>): void {
  const tags = new Set<string>();
  const verbs = new Set<string>();
  let isAuthenticated = false;
  const send = (tokens: readonly string[], raw?: string) => {
    const text = raw === undefined ? tokens.join('|') : `${tokens.join('|')}${CRLF}${raw}`;
    if (socket.writable) socket.write(`${Buffer.byteLength(text)}#${text}`);
  };
  const app: App = {
    tags,
    verbs,
    deliver: (tokens, raw) => send([randomUUID(), ...tokens], raw),
    answer: (messageId, ok, tokens = [], raw) =>
      send([randomUUID(), 'response', messageId, ok ? 'OK' : 'NOK', ...tokens], raw),
    close: () => socket.destroy(),
  };

  function authenticate(messageId: string, secret: string, given: string): void {
    if (!isSameSecret(secret, options.secret)) {
      app.answer(messageId, false, ['incorrect secret']);
      socket.end();
      return;
    }
    isAuthenticated = true;
    for (const tag of given.split(',')) if (tag !== '') tags.add(tag);
    apps.add(app);
    app.answer(messageId, true, [
      options.hostPorts().join(','),
      PROTOCOL_VERSION,
      options.hostPorts().join(','),
    ]);
  }

  function receive(text: string): void {
    const split = text.indexOf(CRLF);
    const [messageId = '', command = '', ...tokens] = (split < 0 ? text : text.slice(0, split)).split('|');
    if (command === 'authenticate') authenticate(messageId, tokens[0] ?? '', tokens[1] ?? '');
    else if (!isAuthenticated) socket.destroy();
    else if (command === 'sip')
      options.onSip(app, { messageId, tokens, raw: split < 0 ? '' : text.slice(split + CRLF.length) });
    else control(messageId, command, tokens[0] ?? '');
  }

  function control(messageId: string, command: string, argument: string): void {
    const verb = argument.toLowerCase();
    if (command === 'route') verbs.add(verb);
    else if (command === 'remove_route') verbs.delete(verb);
    else if (command === 'forget') options.onForget(app, argument);
    else if (command !== 'ping') {
      app.answer(messageId, false, [`unknown command ${command}`]);
      return;
    }
    app.answer(messageId, true, command === 'ping' ? ['pong'] : []);
  }

  socket.setNoDelay(true);
  // Nothing else is sent to a worker that the watch need not ask, and its machine may be lost.
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (apps.delete(app)) options.onLost(app);
  });
  readFrames(socket, receive);
}

/** Cuts a stream into frames; a malformed length closes the connection. */
function readFrames(socket: Socket, receive: (text: string) => void): void {
  let waiting: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    for (;;) {
      const frame = takeFrame(waiting);
      if (frame === 'broken') socket.destroy();
      if (frame === 'broken' || frame === 'more') return;
      waiting = frame.rest;
      receive(frame.text);
    }
  });
}

/** Takes one frame off the front of a stream. */
function takeFrame(bytes: Buffer): { readonly text: string; readonly rest: Buffer } | 'more' | 'broken' {
  const hash = bytes.subarray(0, MAX_LENGTH_DIGITS + 1).indexOf('#');
  if (hash < 0) return bytes.length > MAX_LENGTH_DIGITS ? 'broken' : 'more';
  const digits = bytes.toString('latin1', 0, hash);
  const length = /^\d+$/.test(digits) ? Number(digits) : 0;
  if (length <= 0 || length > MAX_FRAME_BYTES) return 'broken';
  const end = hash + 1 + length;
  return bytes.length < end
    ? 'more'
    : { text: bytes.toString('utf8', hash + 1, end), rest: bytes.subarray(end) };
}
