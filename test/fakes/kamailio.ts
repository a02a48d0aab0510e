/**
 * Runs Kamailio, the SIP server that fronts many sites: phones register with it, and it distributes calls to
 * numbers among the servers behind it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeUdpPort } from '../free-port.ts';

/** A running Kamailio. */
export interface Kamailio {
  /** `host:port` */
  readonly address: string;
  close(): Promise<void>;
}

const RECIPE = join(import.meta.dirname, '../../docs/examples/kamailio.cfg');

/** Starts a Kamailio that distributes calls round-robin to the servers at these ports of 127.0.0.1. */
export function startKamailio(serverPorts: readonly number[]): Promise<Kamailio> {
  return start(serverPorts, configuration);
}

/**
 * Starts the Kamailio of the documentation at an address of this machine, in front of these servers: ports of
 * 127.0.0.1, or `host:port`.
 */
export function startDispatcher(
  servers: readonly (number | string)[],
  address = '127.0.0.1',
): Promise<Kamailio> {
  return start(
    servers,
    (port, dispatcherList) =>
      readFileSync(RECIPE, 'utf8')
        .replaceAll('203.0.113.10:5060', `${address}:${port}`)
        .replaceAll('203.0.113.10', address)
        .replace('/etc/kamailio/dispatcher.list', dispatcherList)
        .replace('#!KAMAILIO\n', '#!KAMAILIO\nchildren=2\ndisable_tcp=yes\n'),
    address,
  );
}

async function start(
  servers: readonly (number | string)[],
  configure: (port: number, dispatcherList: string) => string,
  address = '127.0.0.1',
): Promise<Kamailio> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-kamailio-'));
  const port = await freeUdpPort();
  const dispatcherList = join(folder, 'dispatcher.list');
  const hosts = servers.map((server) => (typeof server === 'number' ? `127.0.0.1:${server}` : server));
  writeFileSync(dispatcherList, hosts.map((host) => `1 sip:${host}\n`).join(''));
  writeFileSync(join(folder, 'kamailio.cfg'), configure(port, dispatcherList));
  const child = spawn(
    'kamailio',
    ['-f', join(folder, 'kamailio.cfg'), '-DD', '-E', '-Y', folder, '-m', '16', '-M', '4'],
    { stdio: 'ignore' },
  );
  return {
    address: `${address}:${port}`,
    async close() {
      // On a stop signal Kamailio ends its child processes.
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGTERM')) await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A registrar without passwords and a load balancer that stays in the path of each dialog (Record-Route), as
 * in Kamailio's own examples. A phone is reached at its Contact (no GRUU, RFC 5627), so in-dialog requests
 * need no look-up.
 */
function configuration(port: number, dispatcherList: string): string {
  return `#!KAMAILIO
debug=0
log_stderror=yes
children=1
disable_tcp=yes
listen=udp:127.0.0.1:${port}
${['tm', 'sl', 'rr', 'pv', 'maxfwd', 'textops', 'siputils', 'usrloc', 'registrar', 'dispatcher'].map((name) => `loadmodule "${name}.so"`).join('\n')}
modparam("usrloc", "db_mode", 0)
modparam("registrar", "gruu_enabled", 0)
modparam("dispatcher", "list_file", "${dispatcherList}")
request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (has_totag()) {
    if (loose_route()) t_relay();
    else if (is_method("ACK") && t_check_trans()) t_relay();
    exit;
  }
  if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
  if (is_method("REGISTER")) { save("location"); exit; }
  t_check_trans();
  if (is_method("INVITE")) record_route();
  if (!lookup("location") && !ds_select_dst("1", "4")) { sl_send_reply("503", "No Destination"); exit; }
  t_relay();
}
`;
}

/** Password of every account at the PBX below. */
export const PBX_PASSWORD = 'pbx-secret';

/**
 * Starts a Kamailio as a PBX: accounts whose names begin with `ext` need the password for REGISTER and
 * INVITE, every number is the phone `alice`, and each account is called at its registered Contact.
 */
export function startPbx(): Promise<Kamailio> {
  return start([], pbx);
}

function pbx(port: number): string {
  const modules = ['tm', 'sl', 'rr', 'pv', 'maxfwd', 'textops', 'siputils', 'usrloc', 'registrar', 'auth'];
  return `#!KAMAILIO
debug=0
log_stderror=yes
children=1
disable_tcp=yes
listen=udp:127.0.0.1:${port}
${modules.map((name) => `loadmodule "${name}.so"`).join('\n')}
modparam("usrloc", "db_mode", 0)
modparam("registrar", "gruu_enabled", 0)
modparam("registrar", "min_expires", 120)
request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (has_totag()) {
    if (loose_route()) t_relay();
    else if (is_method("ACK") && t_check_trans()) t_relay();
    exit;
  }
  if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
  if (is_method("OPTIONS")) { sl_send_reply("200", "Keepalive"); exit; }
  if (is_method("REGISTER")) {
    if ($fU =~ "^ext" && !pv_www_authenticate("$fd", "${PBX_PASSWORD}", "0")) { www_challenge("$fd", "1"); exit; }
    save("location");
    exit;
  }
  t_check_trans();
  if ($fU =~ "^ext") {
    if (!pv_proxy_authenticate("$fd", "${PBX_PASSWORD}", "0")) { proxy_challenge("$fd", "1"); exit; }
    consume_credentials();
  }
  if ($rU =~ "^[+]") $rU = "alice";
  record_route();
  if (!lookup("location")) { sl_send_reply("404", "Not Found"); exit; }
  t_relay();
}
`;
}
