/**
 * The load balancer in front of the control planes, as `node balancer-process.ts <address:port>
 * <address:port> …`: its own address, then the servers. It connects to every server each second; one that
 * does not accept within a second is out, and its connections are closed (HAProxy's `check` with
 * `on-marked-down shutdown-sessions`).
 */
import { connect, createServer, type Socket } from 'node:net';
import { accepts } from './accepts.ts';

const CHECK_MS = 1_000;

/** A server behind the balancer. */
interface Server {
  readonly host: string;
  readonly port: number;
  isUp: boolean;
  readonly clients: Set<Socket>;
}

const [own, ...servers] = process.argv.slice(2).map((place): Server => {
  const [host = '', port = ''] = place.split(':');
  return { host, port: Number(port), isUp: true, clients: new Set() };
});
let turn = 0;

createServer((client) => {
  client.on('error', () => undefined);
  forward(client, servers.length);
}).listen(own?.port, own?.host, () => console.log('ready'));
for (const server of servers) void watch(server);

/** Passes a client on to the next server that accepts it. */
function forward(client: Socket, tries: number): void {
  const up = servers.filter(({ isUp }) => isUp);
  const server = up[turn++ % up.length];
  if (!server || tries === 0) {
    client.destroy();
    return;
  }
  const inner = connect({ host: server.host, port: server.port, noDelay: true, timeout: CHECK_MS });
  const onRefusal = () => {
    inner.destroy();
    forward(client, tries - 1);
  };
  inner.once('error', onRefusal).once('timeout', onRefusal);
  inner.once('connect', () => {
    inner.off('error', onRefusal).off('timeout', onRefusal).setTimeout(0);
    server.clients.add(client);
    client.on('close', () => {
      server.clients.delete(client);
      inner.destroy();
    });
    inner.on('error', () => undefined).on('close', () => client.destroy());
    client.setNoDelay().pipe(inner).pipe(client);
  });
}

async function watch(server: Server): Promise<void> {
  for (;;) {
    const wasUp = server.isUp;
    server.isUp = await accepts(server, CHECK_MS);
    if (wasUp && !server.isUp) for (const client of server.clients) client.destroy();
    await new Promise((done) => setTimeout(done, CHECK_MS));
  }
}
