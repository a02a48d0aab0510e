/**
 * Softphones as a fresh installation has them, started with the line printed at start or that of a
 * page. Only their sound is replaced, because the machine has no sound card: the microphone is a recording,
 * and what they hear is recorded.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseWav, type Wav } from '#caller/wav.ts';
import { blocksOf } from '#test/docs/page-blocks.ts';

/** What a phone heard, and the address of its network interface that it used. */
export interface PhoneResult {
  readonly heard: Wav;
  readonly address: string;
}

/** How long a call lasts, and what is said in it. */
export interface PhoneCall {
  /** Run by a shell. */
  readonly line: string;
  /** Home directory of the phone's user; a new one. */
  readonly home: string;
  /** WAV file. */
  readonly microphone: string;
  readonly seconds: number;
}

/** The line for each phone, of one or more lines of shell; absent where the source has none. */
export type SoftphoneLines = Readonly<Partial<Record<'baresip' | 'Linphone', string>>>;

/**
 * A phone with a higher priority than the product, if that is permitted: it plays the caller's microphone,
 * which must not stutter on a busy machine (sched(7), autogroup).
 */
const FAVOUR = '{ echo -10 > /proc/self/autogroup; } 2> /dev/null';
/** For a phone to end by itself. */
const GRACE_MS = 10_000;
const ROOT = join(import.meta.dirname, '../..');

/** The lines printed at start. */
export function linesOfStart(output: string): SoftphoneLines {
  const after = (name: string) => new RegExp(`^${name} +(.+)$`, 'm').exec(output)?.[1];
  return present({ baresip: after('baresip'), Linphone: after('Linphone') });
}

/** The shell block of the section, divided at its empty line. */
export function linesOfPage(page: string, section: string): SoftphoneLines {
  const text = readFileSync(join(ROOT, page), 'utf8').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = blocksOf(text).flatMap(({ code }) => code.trim().split('\n\n'));
  const withProgram = (program: string) => lines.find((line) => line.includes(program));
  return present({ baresip: withProgram('baresip'), Linphone: withProgram('linphonec') });
}

function present(lines: Readonly<Record<string, string | undefined>>): SoftphoneLines {
  return Object.fromEntries(Object.entries(lines).filter(([, line]) => line !== undefined));
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
  const { child, output, end } = start(
    call,
    'baresip',
    `exec "$REAL" -f '${folder}' -t ${call.seconds} "$@"`,
  );
  await end(call.seconds * 1000 + GRACE_MS);
  child.stdin?.end();
  const heard = readdirSync(folder).find((name) => name.endsWith('-dec.wav'));
  const address = /Local network address:\s+IPv4=[^|]+\|(\S+)/.exec(output.join(''))?.[1];
  if (heard === undefined || address === undefined)
    throw new Error(`baresip heard nothing:\n${output.join('')}`);
  return { heard: parseWav(readFileSync(join(folder, heard))), address };
}

/** Runs a line with Linphone's terminal program. */
export async function callWithStockLinphone(call: PhoneCall): Promise<PhoneResult> {
  const [heard, log] = [join(call.home, 'heard.wav'), join(call.home, 'log')];
  const sound = ['soundcard use files', `play ${call.microphone}`, `record ${heard}`]
    .map((command) => `echo '${command}'`)
    .join('; ');
  const { output, child, end } = start(
    call,
    'linphonec',
    `(${sound}; exec cat) | "$REAL" -d 6 -l '${log}' "$@"`,
  );
  await sleep(call.seconds * 1000);
  child.stdin?.write('terminate\n');
  await sleep(2_000);
  child.stdin?.end('quit\n');
  await end(GRACE_MS);
  const address = /local-ip for streams advertised in SDP: (\S+)/.exec(readFileSync(log, 'utf8'))?.[1];
  if (address === undefined) throw new Error(`Linphone placed no call:\n${output.join('')}`);
  return { heard: parseWav(readFileSync(heard)), address };
}

/** A phone that was started. */
interface StartedPhone {
  readonly child: ChildProcess;
  readonly output: readonly string[];
  /** Waits for its end, and kills it with all its processes if that takes longer. */
  end(limitMs: number): Promise<void>;
}

/**
 * Runs the line in a shell that finds `script` in place of the program, which it calls as `$REAL`. Its input
 * stays open: without it baresip waits for commands in a busy loop.
 */
function start({ line, home }: PhoneCall, program: string, script: string): StartedPhone {
  const folder = join(home, 'bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, program), 0o755);
  const path = process.env['PATH'] ?? '';
  const real = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
  const child = spawn('nice', ['-n', '-10', 'sh', '-c', `${FAVOUR}\n${line}`], {
    // In a session of its own, to which FAVOUR applies.
    detached: true,
    cwd: home,
    env: { HOME: home, PATH: `${folder}${delimiter}${path}`, REAL: real },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  // A phone that has ended early takes no commands; its output says why.
  child.stdin.on('error', () => undefined);
  const exit = once(child, 'exit');
  const end = async (limitMs: number) => {
    const { pid } = child;
    const timer = setTimeout(() => pid !== undefined && process.kill(-pid, 'SIGKILL'), limitMs);
    await exit;
    clearTimeout(timer);
  };
  return { child, output, end };
}
