/** The doctor's checks of this machine: announced addresses, and ports. */
import { createSocket } from 'node:dgram';
import { connect, createServer, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isPublicAddress } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import type { CheckResult } from './check-result.ts';

const CONNECT_MS = 3_000;
/** Number of ports of the RTP range that are tried. */
const TRIED_PORTS = 40;

/** Checks whether other machines can reach the announced addresses. */
export function* checkAddresses(settings: Settings): Generator<CheckResult> {
  const subject = 'Addresses';
  const sipIsLocal = isLoopback(settings.SIP_HOST);
  const isPublic = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => isPublicAddress(address)),
  );
  if (sipIsLocal && settings.SIP_PUBLIC_IP !== undefined)
    yield {
      subject,
      verdict: 'failed',
      result: 'SIP_PUBLIC_IP is set, but SIP_HOST accepts calls from this machine only',
      fix: 'set SIP_HOST=0.0.0.0',
    };
  else if (sipIsLocal)
    yield {
      subject,
      verdict: 'note',
      result: 'SIP accepts calls from this machine only',
      fix: 'for carriers and other phones set SIP_HOST=0.0.0.0, and SIP_PUBLIC_IP behind NAT',
    };
  else if (settings.SIP_PUBLIC_IP === undefined && !isPublic)
    yield {
      subject,
      verdict: 'note',
      result: 'no interface has a public address and SIP_PUBLIC_IP is not set',
      fix: 'carriers on the internet cannot send audio here: set SIP_PUBLIC_IP to a reachable address',
    };
  else
    yield {
      subject,
      verdict: 'ok',
      result:
        `SIP listens on ${settings.SIP_HOST} and announces ` +
        `${settings.SIP_PUBLIC_IP ?? 'the address of the interface facing the peer'}`,
    };
  const { PUBLIC_URL, TLS_CERT, HOST } = settings;
  if (!isLoopback(HOST) && TLS_CERT === undefined && !PUBLIC_URL?.startsWith('https:'))
    yield {
      subject: 'Console',
      verdict: 'note',
      result: 'served without TLS',
      fix:
        'browsers allow microphones only over https: set TLS_CERT and TLS_KEY, or PUBLIC_URL of a proxy ' +
        'with TLS',
    };
}

/**
 * Checks the HTTP and SIP ports: they must answer while the product runs, and be free while it is stopped.
 */
export async function* checkServerPorts(
  settings: Settings,
  isRunning: boolean,
  sip: { readonly host: string; readonly port: number },
): AsyncGenerator<CheckResult> {
  if (isRunning) {
    const answers = await answersTcp(sip.host, sip.port);
    const where = `${sip.host} port ${sip.port}`;
    yield answers
      ? { subject: 'SIP', verdict: 'ok', result: `answers on ${where}` }
      : {
          subject: 'SIP',
          verdict: 'failed',
          result: `nothing answers on ${where} (TCP)`,
          fix: 'pass the address printed at start-up (“Dial”) with --sip, or see the log of signalling',
        };
    return;
  }
  const wanted = [
    {
      subject: 'HTTP port',
      setting: 'PORT',
      host: settings.HOST,
      port: settings.PORT,
      kinds: ['tcp'] as const,
    },
    {
      subject: 'SIP port',
      setting: 'SIP_PORT',
      host: settings.SIP_HOST,
      port: settings.SIP_PORT,
      kinds: ['tcp', 'udp'] as const,
    },
  ];
  for (const { subject, setting, host, port, kinds } of wanted) {
    const refusals = await Promise.all(
      kinds.map(async (kind) =>
        (await (kind === 'tcp' ? bindTcp : bindUdp)(host, port)) ? null : kind.toUpperCase(),
      ),
    );
    const taken = refusals.filter((kind) => kind !== null);
    yield taken.length === 0
      ? { subject, verdict: 'ok', result: `${host} port ${port} is free` }
      : {
          subject,
          verdict: 'failed',
          result: `${host} port ${port} is not available (${taken.join(', ')})`,
          fix: `stop the program that uses it (ss -lntup), or set another ${setting}`,
        };
  }
}

/** Checks whether most ports of the RTP range are free; a running product uses some for its calls. */
export async function checkMediaPorts(settings: Settings): Promise<CheckResult> {
  const { RTP_PORT_MIN: first, RTP_PORT_MAX: last } = settings;
  const step = Math.max(1, Math.floor((last - first) / TRIED_PORTS));
  const ports = Array.from(
    { length: Math.min(TRIED_PORTS, last - first + 1) },
    (_, index) => first + index * step,
  );
  const free = (await Promise.all(ports.map((port) => bindUdp(settings.SIP_HOST, port)))).filter(
    Boolean,
  ).length;
  const result = `${free} of ${ports.length} ports tried between ${first} and ${last} are free`;
  return free > ports.length / 2
    ? { subject: 'RTP ports', verdict: 'ok', result }
    : {
        subject: 'RTP ports',
        verdict: 'failed',
        result,
        fix: 'set RTP_PORT_MIN and RTP_PORT_MAX to a free range, and open it in the firewall (UDP)',
      };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function answersTcp(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

/** Whether a TCP port is free. */
export function bindTcp(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
}

function bindUdp(host: string, port: number): Promise<boolean> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  return new Promise((resolve) => {
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve(true)));
  });
}
