/**
 * Runs rtpengine, the media relay of many SIP sites, without its kernel module: one interface faces the
 * network, the other the workers.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { systemClock } from '#base/clock.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import { freeTcpPort, freeUdpPort } from '../free-port.ts';

/** A running rtpengine. */
export interface Rtpengine {
  readonly address: { readonly host: string; readonly port: number };
  /** Names and addresses of its interfaces. */
  readonly interfaces: { readonly network: string; readonly worker: string };
  readonly addresses: { readonly network: string; readonly worker: string };
  /** Number of calls with allocated ports. */
  calls(): Promise<number>;
  close(): Promise<void>;
}

const STARTS_WITHIN_MS = 10_000;
/** Timeout of calls without packets. */
const FORGETS_AFTER_S = 5;
const ADDRESSES = { network: '127.0.0.2', worker: '127.0.0.3' } as const;
const INTERFACES = { network: 'outside', worker: 'inside' } as const;

export async function startRtpengine(): Promise<Rtpengine> {
  const address = { host: '127.0.0.1', port: await freeUdpPort() };
  const statistics = await freeTcpPort();
  const child = spawn(
    'rtpengine',
    [
      ...[
        '--config-file=none',
        '--foreground',
        '--log-stderr',
        '--log-level=1',
        '--table=-1',
        '--num-threads=1',
      ],
      ...[`--listen-ng=${address.host}:${address.port}`, `--listen-http=127.0.0.1:${statistics}`],
      ...(['network', 'worker'] as const).map((side) => `--interface=${INTERFACES[side]}/${ADDRESSES[side]}`),
      ...['--port-min=30000', '--port-max=30999', `--timeout=${FORGETS_AFTER_S}`],
    ],
    { stdio: 'ignore' },
  );
  const startedAt = systemClock.now();
  const client = createNgClient(address, { clock: systemClock, cookie: randomUUID });
  for (;;) {
    const isThere = await client.ask({ command: 'ping' }).then(
      () => true,
      () => false,
    );
    if (isThere) break;
    if (child.exitCode !== null || systemClock.now() - startedAt > STARTS_WITHIN_MS)
      throw new Error('rtpengine did not start');
  }
  return {
    address,
    interfaces: INTERFACES,
    addresses: ADDRESSES,
    async calls() {
      const metrics = await (await fetch(`http://127.0.0.1:${statistics}/metrics`)).text();
      return Number(/^rtpengine_sessions\{type="own"\} (\d+)$/m.exec(metrics)?.[1]);
    },
    async close() {
      client.close();
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGTERM')) await ended;
    },
  };
}
