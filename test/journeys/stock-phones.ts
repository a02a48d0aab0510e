/**
 * Softphones as a fresh installation has them, started with the lines that the product prints. Only their
 * sound is replaced, because the machine has no sound card: the microphone is a recording, and what they hear
 * is recorded.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseWav, type Wav } from '#caller/wav.ts';

/** What a phone heard, and the address of its machine that it used. */
export interface PhoneResult {
  readonly heard: Wav;
  readonly address: string;
}

/** How long a call lasts, and what is said in it. */
export interface PhoneCall {
  /** The line that the product prints, run by a shell. */
  readonly line: string;
  /** Home directory of the phone's user; a new one. */
  readonly home: string;
  /** WAV file. */
  readonly microphone: string;
  readonly seconds: number;
}

/** Runs a line with baresip. */
export async function callWithStockBaresip(call: PhoneCall): Promise<PhoneResult> {
  const folder = join(call.home, '.baresip');
  mkdirSync(folder, { recursive: true });
  // baresip writes the configuration of a fresh installation itself, and finds it by the login name, which a
  // test may not have.
  spawnSync('baresip', ['-f', folder, '-t', '1'], { stdio: 'ignore' });
  const config = join(folder, 'config');
  const stock = readFileSync(config, 'utf8');
  const files = stock
    .replace(/^audio_source\b.*$/m, `audio_source aufile,${call.microphone}`)
    .replace(/^audio_player\b.*$/m, `audio_player aufile,${join(folder, 'unused.wav')}`)
    .replace(/^module\s+alsa\.so$/m, 'module aufile.so\nmodule sndfile.so');
  writeFileSync(config, `${files}\nsnd_path ${folder}\n`);
  const { output } = await run(call, 'baresip', `exec "$REAL" -f '${folder}' -t ${call.seconds} "$@"`);
  const heard = readdirSync(folder).find((name) => name.endsWith('-dec.wav'));
  const address = /Local network address:\s+IPv4=[^|]+\|(\S+)/.exec(output)?.[1];
  if (heard === undefined || address === undefined) throw new Error(`baresip heard nothing:\n${output}`);
  return { heard: parseWav(readFileSync(join(folder, heard))), address };
}

/** Runs a line with Linphone's terminal program. */
export async function callWithStockLinphone(call: PhoneCall): Promise<PhoneResult> {
  const [heard, log] = [join(call.home, 'heard.wav'), join(call.home, 'log')];
  const sound = ['soundcard use files', `play ${call.microphone}`, `record ${heard}`]
    .map((command) => `echo '${command}'`)
    .join('; ');
  const { output, child, ended } = start(
    call,
    'linphonec',
    `(${sound}; exec cat) | "$REAL" -d 6 -l '${log}' "$@"`,
  );
  await sleep(call.seconds * 1000);
  child.stdin?.write('terminate\n');
  await sleep(2_000);
  child.stdin?.end('quit\n');
  await ended;
  const address = /local-ip for streams advertised in SDP: (\S+)/.exec(readFileSync(log, 'utf8'))?.[1];
  if (address === undefined) throw new Error(`Linphone placed no call:\n${output.join('')}`);
  return { heard: parseWav(readFileSync(heard)), address };
}

async function run(call: PhoneCall, program: string, script: string): Promise<{ readonly output: string }> {
  const { child, output, ended } = start(call, program, script);
  child.stdin?.end();
  await ended;
  return { output: output.join('') };
}

/** Runs the line in a shell that finds `script` in place of the program, which it calls as `$REAL`. */
function start(
  { line, home }: PhoneCall,
  program: string,
  script: string,
): { readonly child: ChildProcess; readonly output: readonly string[]; readonly ended: Promise<unknown> } {
  const folder = join(home, 'bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, program), 0o755);
  const path = process.env['PATH'] ?? '';
  const real = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
  const child = spawn('sh', ['-c', line], {
    cwd: home,
    env: { HOME: home, PATH: `${folder}${delimiter}${path}`, REAL: real },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  return { child, output, ended: once(child, 'exit') };
}
