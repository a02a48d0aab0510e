/** The doctor's checks of this machine: the addresses that settings announce, and the ports. */
import { createSocket } from 'node:dgram';
import { connect, createServer, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isPublicAddress } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import type { Finding } from './check-result.ts';

const CONNECT_MS = 3_000;
/** Media ports tried from the range. */
const TRIED_PORTS = 40;

/** Whether the announced addresses are reachable for others. */
export function* checkAddresses(settings: Settings): Generator<Finding> {
  const what = 'Addresses';
  const sipIsLocal = isLoopback(settings.SIP_HOST);
  const isPublic = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => isPublicAddress(address)),
  );
  if (sipIsLocal && settings.SIP_PUBLIC_IP !== undefined)
    yield {
      what,
      verdict: 'failed',
      found: 'SIP_PUBLIC_IP is set, but SIP_HOST accepts calls from this machine only',
      advice: 'set SIP_HOST=0.0.0.0',
    };
  else if (sipIsLocal)
    yield {
      what,
      verdict: 'note',
      found: 'SIP accepts calls from this machine only',
      advice: 'for carriers and other phones set SIP_HOST=0.0.0.0, and SIP_PUBLIC_IP behind NAT',
    };
  else if (settings.SIP_PUBLIC_IP === undefined && !isPublic)
    yield {
      what,
      verdict: 'note',
      found: 'no interface has a public address and SIP_PUBLIC_IP is not set',
      advice:
        'a carrier on the internet could not send audio here: set SIP_PUBLIC_IP to the address it can reach',
    };
  else
    yield {
      what,
      verdict: 'ok',
      found:
        `SIP on ${settings.SIP_HOST}, as ` +
        `${settings.SIP_PUBLIC_IP ?? 'the interface that faces the peer'}`,
    };
  const { PUBLIC_URL, TLS_CERT, HOST } = settings;
  if (!isLoopback(HOST) && TLS_CERT === undefined && !PUBLIC_URL?.startsWith('https:'))
    yield {
      what: 'Console',
      verdict: 'note',
      found: 'served without TLS',
      advice:
        'browsers allow microphones only over https: set TLS_CERT and TLS_KEY, or PUBLIC_URL of a proxy ' +
        'with TLS',
    };
}

/** The ports of HTTP and SIP: free while the product is stopped, answering while it runs. */
export async function* checkServerPorts(
  settings: Settings,
  isRunning: boolean,
  sip: { readonly host: string; readonly port: number },
): AsyncGenerator<Finding> {
  if (isRunning) {
    const answers = await answersTcp(sip.host, sip.port);
    const where = `${sip.host} port ${sip.port}`;
    yield answers
      ? { what: 'SIP', verdict: 'ok', found: `answers on ${where}` }
      : {
          what: 'SIP',
          verdict: 'failed',
          found: `nothing answers on ${where} (TCP)`,
          advice:
            'give the address printed at the start (“Dial”) with --sip, or see the log of the signalling',
        };
    return;
  }
  const wanted = [
    { what: 'HTTP port', setting: 'PORT', host: settings.HOST, port: settings.PORT, kinds: ['tcp'] as const },
    {
      what: 'SIP port',
      setting: 'SIP_PORT',
      host: settings.SIP_HOST,
      port: settings.SIP_PORT,
      kinds: ['tcp', 'udp'] as const,
    },
  ];
  for (const { what, setting, host, port, kinds } of wanted) {
    const refusals = await Promise.all(
      kinds.map(async (kind) =>
        (await (kind === 'tcp' ? bindTcp : bindUdp)(host, port)) ? null : kind.toUpperCase(),
      ),
    );
    const taken = refusals.filter((kind) => kind !== null);
    yield taken.length === 0
      ? { what, verdict: 'ok', found: `${host} port ${port} is free` }
      : {
          what,
          verdict: 'failed',
          found: `${host} port ${port} is not available (${taken.join(', ')})`,
          advice: `stop what uses it (ss -lntup), or set another ${setting}`,
        };
  }
}

/** Whether ports of the RTP range are free; a running product uses those of its calls. */
export async function checkMediaPorts(settings: Settings): Promise<Finding> {
  const { RTP_PORT_MIN: first, RTP_PORT_MAX: last } = settings;
  const step = Math.max(1, Math.floor((last - first) / TRIED_PORTS));
  const ports = Array.from(
    { length: Math.min(TRIED_PORTS, last - first + 1) },
    (_, index) => first + index * step,
  );
  const free = (await Promise.all(ports.map((port) => bindUdp(settings.SIP_HOST, port)))).filter(
    Boolean,
  ).length;
  const found = `${free} of ${ports.length} ports tried between ${first} and ${last} are free`;
  return free > ports.length / 2
    ? { what: 'RTP ports', verdict: 'ok', found }
    : {
        what: 'RTP ports',
        verdict: 'failed',
        found,
        advice: 'set RTP_PORT_MIN and RTP_PORT_MAX to a free range, and open it in the firewall (UDP)',
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
