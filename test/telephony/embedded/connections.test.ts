/** Third-party connections over TCP and TLS: which stay open, and for how long. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  openTransports,
  type Peer,
  type TransportOptions,
  type Transports,
} from '#telephony/embedded/transport.ts';
import { makeCertificate, type TestCertificate } from '#test/fakes/certificate.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { freeUdpPort } from '#test/free-port.ts';

const LIMITS = { sipConnections: 6, sipConnectionsPerAddress: 4, sipMessageMs: 30_000, sipIdleMs: 3_900_000 };
const OPTIONS = 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 0\r\n\r\n';

let clock: ManualClock;
let transports: Transports;
let sockets: Socket[];
let certificate: TestCertificate;

beforeAll(() => {
  certificate = makeCertificate();
});
afterAll(() => certificate.remove());

beforeEach(async () => {
  clock = new ManualClock();
  sockets = [];
  transports = await openTransports({
    host: '127.0.0.1',
    port: 0,
    tls: { ...certificate, port: 0, authorities: null },
    clock,
    limits: LIMITS,
    onMessage: (text, peer) => {
      transports.send(`${text.slice(0, 7)} answered`, peer);
      return text.startsWith('OPTIONS');
    },
    onUnreachable: () => undefined,
  });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await transports.close();
});

/** Opens a connection from one of the machine's own addresses. */
async function open(localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: transports.port, localAddress });
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** True if a whole message gets an answer; false if the connection is closed. */
function isServed(socket: Socket, text = OPTIONS): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    socket.once('close', () => resolve(false)).once('data', () => resolve(true));
    socket.write(text);
  });
}

describe('a connection to the SIP port', () => {
  it.each([
    ['sends nothing', ''],
    ['sends empty lines only', '\r\n\r\n\r\n\r\n'],
    ['sends bytes that are not a message', 'x\r\n\r\n'],
    ['sends half a message', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Le'],
    ['sends a head without its body', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 10\r\n\r\nabc'],
    ['sends a message without an end', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: x\r\n\r\n'],
  ])('security 14: is closed after 30 seconds if it %s', async (_, text) => {
    const served = await open();
    expect(await isServed(served)).toBe(true);
    const silent = await open();
    const closed = once(silent, 'close');
    silent.resume();
    if (text !== '') silent.write(text);
    // Connections are processed in order, so the previous one is registered by now.
    expect(await isServed(served)).toBe(true);
    await clock.advance(29_000);
    expect(await isServed(served)).toBe(true);
    await clock.advance(1_000);
    await closed;
    expect(await isServed(served)).toBe(true);
  });

  it('security 14: is closed after 30 seconds if it never completes a second message', async () => {
    const socket = await open();
    expect(await isServed(socket, `${OPTIONS}OPTIONS sip:`)).toBe(true);
    const closed = once(socket, 'close');
    await clock.advance(30_000);
    await closed;
  });

  it('security 14: stays for the maximum call length once used, and closes after more silence', async () => {
    const socket = await open();
    expect(await isServed(socket)).toBe(true);
    await clock.advance(3_600_000);
    expect(await isServed(socket)).toBe(true);
    const closed = once(socket, 'close');
    await clock.advance(3_900_000);
    await closed;
  });

  it('security 14: is refused when its address has too many; other addresses are still served', async () => {
    for (let n = 0; n < 4; n++) await isServed(await open());
    expect(await isServed(await open())).toBe(false);
    expect(await isServed(await open('127.0.0.2'))).toBe(true);
    sockets[0]?.destroy();
    await expect.poll(async () => isServed(await open())).toBe(true);
  });

  it('security 14: replaces one that has never sent anything when all places are taken', async () => {
    const used = await open('127.0.0.2');
    expect(await isServed(used)).toBe(true);
    for (const address of ['127.0.0.3', '127.0.0.4']) for (let n = 0; n < 4; n++) await open(address);
    expect(await isServed(await open('127.0.0.5'))).toBe(true);
    expect(await isServed(used)).toBe(true);
  });

  it('security 14: replaces the one silent for longest when all have been used', async () => {
    const [first, second] = [await open('127.0.0.2'), await open('127.0.0.2')];
    expect([await isServed(first), await isServed(second)]).toEqual([true, true]);
    for (let n = 0; n < 4; n++) expect(await isServed(await open('127.0.0.3'))).toBe(true);
    expect(await isServed(first)).toBe(true);
    expect(await isServed(await open('127.0.0.4'))).toBe(true);
    expect([await isServed(first), await isServed(second)]).toEqual([true, false]);
  });

  it('security 14: is not counted after another one of the same address has replaced it', async () => {
    for (const address of ['127.0.0.2', '127.0.0.3'])
      for (let n = 0; n < 3; n++) expect(await isServed(await open(address))).toBe(true);
    for (let n = 0; n < 4; n++) expect(await isServed(await open('127.0.0.2'))).toBe(true);
  });

  it('security 14: replaces the previous one from the same port and counts once', async () => {
    const localPort = await freeUdpPort();
    for (let n = 0; n < 10; n++) {
      const socket = connect({
        host: '127.0.0.1',
        port: transports.port,
        localAddress: '127.0.0.1',
        localPort,
      });
      sockets.push(socket);
      await once(socket, 'connect');
      expect(await isServed(socket)).toBe(true);
      const closed = once(socket, 'close');
      socket.resetAndDestroy();
      await closed;
    }
  });

  it('security 14: leaves room for others if it is our own, when all places are taken', async () => {
    const far = createServer((socket) => socket.resume().on('error', () => undefined)).listen(0, '0.0.0.0');
    await once(far, 'listening');
    const { port } = far.address() as AddressInfo;
    try {
      // Each loopback address counts as another peer.
      for (let n = 1; n <= 6; n++)
        transports.send(OPTIONS, { transport: 'tcp', address: `127.0.1.${n}`, port });
      expect(await isServed(await open())).toBe(true);
    } finally {
      far.close();
    }
  });

  it('security 14: counts before the handshake over TLS, and closes if the handshake never comes', async () => {
    const port = transports.tlsPort ?? 0;
    const silent = Array.from({ length: 3 }, () => connect({ host: '127.0.0.1', port }));
    sockets.push(...silent);
    const closed = Promise.all(silent.map((socket) => once(socket.resume(), 'close')));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const secure = () => {
      const socket = tlsConnect({ host: '127.0.0.1', port, ca: certificate.certificate });
      socket.on('error', () => undefined);
      sockets.push(socket);
      return socket;
    };
    expect(await isServed(secure())).toBe(true);
    expect(await isServed(secure())).toBe(false);
    await clock.advance(30_000);
    await closed;
    expect(await isServed(secure())).toBe(true);
  });
});

describe('a connection over TLS to a name of a peer', () => {
  it('security 12: is not made if the name has a private address', async () => {
    const { far, port } = await listenFar((socket) => socket.resume());
    const unreachable = Promise.withResolvers<Peer>();
    const ours = await openTo(far, { onUnreachable: unreachable.resolve });
    const peer = { transport: 'tls', address: 'localhost', port } as const;
    ours.send(OPTIONS, peer);
    await once(far, 'secureConnection');
    const itsPeer = { ...peer, mustBePublic: true };
    ours.send(OPTIONS, itsPeer);
    expect(await unreachable.promise).toBe(itsPeer);
  });

  it('security 12: has the address as the source of its messages, and takes the answers to them', async () => {
    const answered = Promise.withResolvers<string>();
    const { far, port } = await listenFar((socket) => {
      socket.once('data', () => {
        socket.write(OPTIONS);
        socket.once('data', (answer) => answered.resolve(String(answer)));
      });
    });
    const ours = await openTo(far, {
      onMessage: (_, source) => {
        ours.send(`to ${source.address}:${source.port}`, source);
        return true;
      },
    });
    ours.send(OPTIONS, { transport: 'tls', address: 'localhost', port, mustBePublic: false });
    expect(await answered.promise).toBe(`to 127.0.0.1:${port}`);
  });

  let closing: (() => unknown)[];
  beforeEach(() => {
    closing = [];
  });
  afterEach(async () => {
    for (const close of closing) await close();
  });

  async function listenFar(onSocket: (socket: Socket) => void): Promise<{ far: Server; port: number }> {
    const far = createTlsServer({ cert: certificate.certificate, key: certificate.key });
    far.on('secureConnection', (socket) => onSocket(socket.on('error', () => undefined)));
    far.listen(0, '127.0.0.1');
    await once(far, 'listening');
    return { far, port: (far.address() as AddressInfo).port };
  }

  async function openTo(
    far: Server,
    on: Partial<Pick<TransportOptions, 'onMessage' | 'onUnreachable'>>,
  ): Promise<Transports> {
    const ours = await openTransports({
      host: '127.0.0.1',
      port: 0,
      tls: { ...certificate, port: 0, authorities: certificate.certificate },
      clock,
      onMessage: () => true,
      onUnreachable: () => undefined,
      ...on,
    });
    closing.push(
      () => ours.close(),
      () => far.close(),
    );
    return ours;
  }
});

describe('a phone that keeps its connection open (RFC 5626 §3.5.1)', () => {
  /** What comes back within a moment, after something that is always answered. */
  async function answerTo(...pieces: string[]): Promise<string> {
    const socket = await open();
    let heard = '';
    socket.on('data', (bytes) => (heard += String(bytes)));
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    socket.write(OPTIONS);
    await expect.poll(() => heard).toContain('answered');
    return heard.replace('OPTIONS answered', '');
  }

  it('gets an empty line for two', async () => {
    expect(await answerTo('\r\n\r\n')).toBe('\r\n');
    expect(await answerTo('\r\n', '\r\n')).toBe('\r\n');
  });

  it('gets nothing for one, which is the answer to ours', async () => {
    expect(await answerTo('\r\n')).toBe('');
  });

  it('stays connected by its signs of life', async () => {
    const socket = await open();
    expect(await isServed(socket)).toBe(true);
    for (let nth = 0; nth < 3; nth++) {
      await clock.advance(LIMITS.sipIdleMs - 2_000);
      socket.write('\r\n\r\n');
      await once(socket, 'data');
    }
    expect(await isServed(socket)).toBe(true);
  });
});
