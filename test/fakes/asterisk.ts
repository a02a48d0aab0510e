/**
 * Runs an Asterisk as a PBX with three accounts, which register. `call` calls the first, and they call
 * numbers, at which the PBX answers and listens, and a menu.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '#base/clock.ts';
import { parseWav } from '#caller/wav.ts';
import { freeSipPort } from '../free-port.ts';

/**
 * Its accounts, by how each takes keys: as telephone events, by SIP INFO, or as tones. It hears no tones in
 * G.722.
 */
export const ASTERISK_ACCOUNTS = {
  rfc4733: { username: 'ext204', password: 'pbx-secret' },
  info: { username: 'ext205', password: 'pbx-secret' },
  inband: { username: 'ext206', password: 'pbx-secret' },
} as const;

const STARTED_MS = 30_000;
const POLL_MS = 200;
/** At the greatest length of a recording, s, the PBX hangs up. */
const LISTENS_SECONDS = 6;
/** A menu that says nothing reads four keys at this number, for so long, s, and hangs up. */
export const ASTERISK_MENU = '+12125550177';
const MENU_KEYS = 4;
const MENU_SECONDS = 15;

/** A running Asterisk. */
export interface Asterisk {
  /** `host:port` */
  readonly address: string;
  /** Calls the first account, and listens to it. */
  call(): Promise<void>;
  /** Audio that the PBX heard in its last call with an account, 8 kHz mono; complete once it has ended. */
  heard(): Int16Array;
  /** The keys that its menu read last. */
  keys(): Promise<string>;
  /** Answer of its command line. */
  ask(command: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts an Asterisk on the loopback; resolves once it takes commands. */
export async function startAsterisk(): Promise<Asterisk> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-asterisk-'));
  const heardFile = join(folder, 'heard.wav');
  const port = await freeSipPort();
  for (const [name, text] of Object.entries(configuration(folder, port)))
    writeFileSync(join(folder, name), text);
  for (const name of ['run', 'var', 'log', 'spool']) mkdirSync(join(folder, name));
  const settings = ['-C', join(folder, 'asterisk.conf')];
  const child = spawn('asterisk', ['-f', '-n', ...settings], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const ask = async (command: string) =>
    (await promisify(execFile)('asterisk', [...settings, '-rx', command])).stdout;
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const deadlineMs = systemClock.now() + STARTED_MS;
  while (!(await ask('core waitfullybooted').catch(() => '')).includes('fully booted')) {
    if (systemClock.now() > deadlineMs || child.exitCode !== null) {
      await close();
      throw new Error('Asterisk did not start');
    }
    await systemClock.sleep(POLL_MS);
  }
  return {
    address: `127.0.0.1:${port}`,
    async call() {
      rmSync(heardFile, { force: true });
      await ask(`channel originate PJSIP/${ASTERISK_ACCOUNTS.rfc4733.username} extension listen@pbx`);
    },
    heard: () => (existsSync(heardFile) ? parseWav(readFileSync(heardFile)).samples : new Int16Array(0)),
    keys: async () => /^Value: (.*)$/m.exec(await ask('database get menu keys'))?.[1] ?? '',
    ask,
    close,
  };
}

/** Configuration of the accounts. */
function accounts(): string {
  const each = Object.entries(ASTERISK_ACCOUNTS).map(
    ([mode, { username, password }]) => `
[${username}]
type=aor
max_contacts=1
remove_existing=yes
[${username}]
type=auth
auth_type=userpass
username=${username}
password=${password}
[${username}]
type=endpoint
context=pbx
disallow=all
allow=${mode === 'inband' ? 'ulaw' : 'g722,ulaw'}
auth=${username}
aors=${username}
direct_media=no
dtmf_mode=${mode}
`,
  );
  return each.join('');
}

/** Files of configuration, by name. */
function configuration(folder: string, port: number): Record<string, string> {
  const tree = installed();
  const directories = {
    ...{ astetcdir: folder, astrundir: join(folder, 'run'), astlogdir: join(folder, 'log') },
    ...{ astspooldir: join(folder, 'spool'), astmoddir: join(tree, 'usr/lib/asterisk/modules') },
    ...{ astvarlibdir: join(folder, 'var'), astdbdir: join(folder, 'var'), astkeydir: join(folder, 'var') },
    astdatadir: join(tree, 'usr/share/asterisk'),
  };
  const paths = Object.entries(directories).map(([name, path]) => `${name} => ${path}`);
  return {
    'asterisk.conf': ['[directories]', ...paths, ''].join('\n'),
    'modules.conf': ['[modules]', 'autoload=no', ...MODULES.map((name) => `load=${name}.so`), ''].join('\n'),
    'logger.conf': '',
    'pjsip.conf': `
[udp]
type=transport
protocol=udp
bind=127.0.0.1:${port}
${accounts()}`,
    'extensions.conf': `
[pbx]
exten => listen,1,Record(${join(folder, 'heard.wav')},0,${LISTENS_SECONDS},kq)
 same => n,Hangup()
exten => ${ASTERISK_MENU},1,Answer()
 same => n,Read(KEYS,,${MENU_KEYS},,1,${MENU_SECONDS})
 same => n,Set(DB(menu/keys)=\${KEYS})
 same => n,Hangup()
exten => _[+0-9]X.,1,Answer()
 same => n,Goto(listen,1)
`,
  };
}

/** Folder of the unpacked packages. */
function installed(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const program = folders.map((folder) => join(folder, 'asterisk')).find((path) => existsSync(path));
  return program ? join(dirname(realpathSync(program)), 'tree') : '/';
}

const MODULES = `
  res_sorcery_config res_sorcery_memory res_sorcery_astdb res_pjproject res_pjsip res_pjsip_session
  res_pjsip_pubsub res_pjsip_authenticator_digest res_pjsip_outbound_authenticator_digest
  res_pjsip_endpoint_identifier_user res_pjsip_registrar res_pjsip_sdp_rtp res_pjsip_caller_id
  res_pjsip_rfc3326 res_rtp_asterisk chan_pjsip bridge_simple codec_ulaw codec_g722 format_wav app_record
  res_pjsip_dtmf_info app_read func_db res_timing_timerfd
  pbx_config res_clioriginate
`
  .trim()
  .split(/\s+/);
