/**
 * Runs Linphone's console phone without a sound card: it registers, dials, answers every call, plays a WAV
 * and records the audio it receives.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { parseWav } from '#caller/wav.ts';
import { resample } from '#media/dsp/pcm.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { freeUdpPort } from '../free-port.ts';

const RATE_HZ = 8_000;
const REGISTERED_MS = 30_000;
const POLL_MS = 200;

/** A registered phone. */
export interface Linphone {
  dial(uri: string): void;
  hangUp(): void;
  /** Audio received in its last call, 8 kHz mono; complete once the call has ended. */
  heard(): Int16Array;
  close(): Promise<void>;
}

/**
 * Starts a phone as `user` at a registrar (`host:port`) that may ask for a password; `microphone` is 8 kHz
 * mono. Resolves once the phone is registered; if registration fails, throws with the phone's output.
 */
export async function startLinphone(
  user: string,
  registrar: string,
  microphone: Int16Array,
  password?: string,
): Promise<Linphone> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-linphone-'));
  // Directory of Linphone's database.
  mkdirSync(join(folder, '.local/share/linphone'), { recursive: true });
  const [microphoneFile, heardFile] = [join(folder, 'microphone.wav'), join(folder, 'heard.wav')];
  writeFileSync(microphoneFile, toWav(microphone, RATE_HZ));
  writeFileSync(
    join(folder, 'linphonerc'),
    configuration({
      user,
      registrar,
      password,
      sipPort: await freeUdpPort(),
      mediaPort: await freeUdpPort(),
    }),
  );
  const child = spawn('linphonec', ['-a', '-c', join(folder, 'linphonerc')], {
    env: { ...process.env, HOME: folder },
  });
  const ended = once(child, 'exit');
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const send = (command: string) => child.stdin.write(`${command}\n`);
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const command of ['soundcard use files', `play ${microphoneFile}`, `record ${heardFile}`])
    send(command);
  const deadlineMs = systemClock.now() + REGISTERED_MS;
  while (!printed.includes('registered, identity')) {
    if (systemClock.now() > deadlineMs || child.exitCode !== null) {
      await close();
      throw new Error(`Linphone did not register:\n${printed}`);
    }
    send('status register');
    await systemClock.sleep(POLL_MS);
  }
  return {
    dial(uri) {
      rmSync(heardFile, { force: true });
      send(`call ${uri}`);
    },
    hangUp: () => send('terminate all'),
    heard() {
      if (!existsSync(heardFile)) return new Int16Array(0);
      const { samples, rateHz, channels } = parseWav(readFileSync(heardFile));
      return resample(
        samples.filter((_, index) => index % channels === 0),
        rateHz,
        RATE_HZ,
      );
    },
    close,
  };
}

function configuration(of: {
  readonly user: string;
  readonly registrar: string;
  readonly password: string | undefined;
  readonly sipPort: number;
  readonly mediaPort: number;
}): string {
  return `[sip]
sip_port=${of.sipPort}
sip_tcp_port=0
sip_tls_port=0
default_proxy=0
use_ipv6=0
contact="${of.user}" <sip:${of.user}@127.0.0.1>
[net]
dns_srv_enabled=0
[rtp]
audio_rtp_port=${of.mediaPort}
[proxy_0]
reg_proxy=<sip:${of.registrar}>
reg_identity=sip:${of.user}@127.0.0.1
reg_expires=600
reg_sendregister=1
publish=0
${of.password === undefined ? '' : login(of.user, of.password)}`;
}

function login(user: string, password: string): string {
  return `[auth_info_0]
username=${user}
passwd=${password}
`;
}
