/**
 * Runs baresip, a real SIP phone without a screen: it dials or answers, plays a WAV, presses keys and records
 * the audio it receives.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { resample } from '#media/dsp/pcm.ts';

const MODULES = '/usr/lib/baresip/modules';
const RATE_HZ = 8_000;
const WAV_HEADER_BYTES = 44;
/** Offsets of the channel count and the sample rate in a WAV header. */
const WAV_CHANNELS_AT = 22;
const WAV_RATE_AT = 24;
const TRIES = 3;

/** baresip offers the codecs of its loaded modules. */
const CODEC_MODULES = { PCMU: 'g711', G722: 'g722', opus: 'opus' } as const;
export type PhoneCodec = keyof typeof CODEC_MODULES;

/** A phone in a call. */
export interface Phone {
  /** SIP URI of the phone. */
  readonly uri: string;
  /** `host:port` of the phone, for a trunk with one phone. */
  readonly address: string;
  /** Presses one key (RFC 4733). */
  press(key: string): Promise<void>;
  hangUp(): Promise<void>;
  /** Notes the keys that it receives from now on (RFC 4733). */
  noteKeys(): Promise<void>;
  /** The keys that it has noted. */
  keys(): string;
  /** Audio received in its last call so far, 8 kHz mono; complete once the call has ended. */
  heard(): Int16Array;
  close(): Promise<void>;
}

/**
 * Files of the phone's certificate (with its key) and of the authority it trusts. The phone uses TLS and, by
 * default, only SRTP.
 */
export interface PhoneSecurity {
  readonly certificate: string;
  readonly authority: string;
  readonly isMediaPlain?: boolean;
}

/** Settings of a phone. */
export interface PhoneOptions {
  /** SIP user of the phone; it accepts calls for this user only. */
  readonly user?: string;
  readonly codec?: PhoneCodec;
  readonly security?: PhoneSecurity;
  /** Credentials for digest challenges. */
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Registers there (`host:port`) and takes its calls. */
  readonly registrar?: { readonly address: string; readonly transport: 'udp' | 'tcp' | 'tls' };
  /** False: rings until the call is cancelled. */
  readonly answers?: boolean;
  /** Its network instead of the loopback, and its first port for audio there. */
  readonly network?: { readonly interface: string; readonly address: string; readonly rtpPort: number };
}

/** Dials `uri`; plays `microphone` (8 kHz mono) once, then silence. */
export function dial(uri: string, microphone: Int16Array, options: PhoneOptions = {}): Promise<Phone> {
  return startListening(microphone, options, ['-e', `/dial ${uri}`]);
}

/** Answers every call; resolves once the phone accepts calls. */
export function answerPhone(microphone: Int16Array, options: PhoneOptions = {}): Promise<Phone> {
  return startListening(microphone, options, []);
}

async function startListening(
  microphone: Int16Array,
  options: PhoneOptions,
  orders: readonly string[],
): Promise<Phone> {
  for (let left = TRIES; ; left--) {
    const phone = await start(microphone, options, orders);
    try {
      await phone.listening();
      return phone;
    } catch (error) {
      // Another process has taken one of its ports in the meantime.
      await phone.close();
      if (left === 1) throw error;
    }
  }
}

async function start(
  microphone: Int16Array,
  { user = 'alice', codec = 'PCMU', security, credentials, network, registrar, answers = true }: PhoneOptions,
  options: readonly string[],
): Promise<Baresip> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-baresip-'));
  const [sipPort, controlPort] = [await freePort(), await freePort()];
  const rtpPort = network?.rtpPort ?? (await freePort());
  const address = network?.address ?? '127.0.0.1';
  // baresip ends the call at the end of its microphone file.
  const speech = new Int16Array(microphone.length + 60 * RATE_HZ);
  speech.set(microphone);
  writeFileSync(join(directory, 'microphone.wav'), wav(speech));
  writeFileSync(join(directory, 'contacts'), '');
  const encryption = security && !security.isMediaPlain ? ';mediaenc=srtp-mand' : '';
  const own = `${address}${security ? ';transport=tls' : ''}`;
  const home = registrar ? `${registrar.address};transport=${registrar.transport}` : own;
  const account = `<sip:${user}@${home}>${encryption}`;
  const login = credentials ? `;auth_user=${credentials.username};auth_pass=${credentials.password}` : '';
  writeFileSync(
    join(directory, 'accounts'),
    `${account}${login};regint=${registrar ? 60 : 0};answermode=${answers ? 'auto' : 'manual'}\n`,
  );
  const config = [
    `sip_listen ${address}:${sipPort}`,
    `net_interface ${network?.interface ?? '127.0.0.1'}`,
    `audio_source aufile,${join(directory, 'microphone.wav')}`,
    `audio_player aufile,${join(directory, 'unused.wav')}`,
    ...['ausrc_srate', 'auplay_srate'].map((name) => `${name} ${RATE_HZ}`),
    ...['ausrc_channels', 'auplay_channels'].map((name) => `${name} 1`),
    `rtp_ports ${rtpPort}-${rtpPort + 10}`,
    `snd_path ${directory}`,
    `ctrl_tcp_listen 127.0.0.1:${controlPort}`,
    `module_path ${MODULES}`,
    ...(security ? [`sip_certificate ${security.certificate}`, `sip_cafile ${security.authority}`] : []),
    ...['stdio', CODEC_MODULES[codec], 'aufile', 'sndfile', 'stun', ...(security ? ['srtp'] : [])].map(
      (name) => `module ${name}.so`,
    ),
    ...['uuid', 'account'].map((name) => `module_tmp ${name}.so`),
    ...['contact', 'debug_cmd', 'menu', 'ctrl_tcp'].map((name) => `module_app ${name}.so`),
  ];
  writeFileSync(join(directory, 'config'), `${config.join('\n')}\n`);
  const child = spawn('baresip', ['-f', directory, ...options, '-t', '240'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return new Baresip(child, directory, {
    user,
    host: address,
    sip: sipPort,
    control: controlPort,
    isSecure: security !== undefined,
  });
}

class Baresip implements Phone {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly uri: string;
  readonly address: string;
  readonly #controlPort: number;
  /** baresip has one client at a time. */
  #control: Socket | null = null;
  #reported = '';

  constructor(
    child: ChildProcess,
    directory: string,
    ports: {
      readonly user: string;
      readonly host: string;
      readonly sip: number;
      readonly control: number;
      readonly isSecure: boolean;
    },
  ) {
    this.#child = child;
    this.#directory = directory;
    // baresip listens for TLS one port above.
    this.address = `${ports.host}:${ports.isSecure ? ports.sip + 1 : ports.sip}`;
    this.uri = `sip:${ports.user}@${this.address}${ports.isSecure ? ';transport=tls' : ''}`;
    this.#controlPort = ports.control;
  }

  /** The control port opens last. */
  async listening(): Promise<void> {
    for (;;) {
      if (this.#child.exitCode !== null) throw new Error(`baresip ended with ${this.#child.exitCode}`);
      const socket = connect(this.#controlPort, '127.0.0.1');
      try {
        await once(socket, 'connect');
        return;
      } catch {
        await systemClock.sleep(50);
      } finally {
        socket.destroy();
      }
    }
  }

  press(key: string): Promise<void> {
    return this.#command('sndcode', key);
  }

  hangUp(): Promise<void> {
    return this.#command('hangup', '');
  }

  async noteKeys(): Promise<void> {
    await this.#connected();
  }

  /** Its events are JSON, each in a netstring. */
  keys(): string {
    return [...this.#reported.matchAll(/\{[^{}]*"CALL_DTMF_START"[^{}]*\}/g)]
      .map(([event]) => (JSON.parse(event) as { readonly param?: string }).param ?? '?')
      .join('');
  }

  heard(): Int16Array {
    // File names contain the start time of the call.
    const name = readdirSync(this.#directory)
      .filter((file) => file.endsWith('-dec.wav'))
      .sort()
      .at(-1);
    if (name === undefined) return new Int16Array(0);
    const file = readFileSync(join(this.#directory, name));
    if (file.length < WAV_HEADER_BYTES) return new Int16Array(0);
    const [channels, rateHz] = [file.readUInt16LE(WAV_CHANNELS_AT), file.readUInt32LE(WAV_RATE_AT)];
    const { buffer } = Uint8Array.from(file.subarray(WAV_HEADER_BYTES));
    const all = new Int16Array(buffer, 0, buffer.byteLength >> 1);
    const samples = channels === 1 ? all : all.filter((_, index) => index % channels === 0);
    return resample(samples, rateHz, RATE_HZ);
  }

  async close(): Promise<void> {
    this.#control?.destroy();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #command(command: string, params: string): Promise<void> {
    const socket = await this.#connected();
    const json = JSON.stringify({ command, params, token: 'test' });
    socket.write(`${json.length}:${json},`);
    await Promise.race([once(socket, 'data'), systemClock.sleep(2_000)]);
  }

  async #connected(): Promise<Socket> {
    if (this.#control && !this.#control.destroyed) return this.#control;
    const socket = connect(this.#controlPort, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('data', (bytes) => {
      this.#reported += bytes.toString('utf8');
    });
    socket.on('error', () => socket.destroy());
    this.#control = socket;
    return socket;
  }
}

function wav(samples: Int16Array): Buffer {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(RATE_HZ, 24);
  header.writeUInt32LE(RATE_HZ * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
