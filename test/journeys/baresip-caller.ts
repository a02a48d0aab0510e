/**
 * A phone call by baresip without a sound card: its microphone is a recording, and it records the audio it
 * receives. Its network settings are those of a fresh installation: it names the network card's address.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseWav, type Wav } from '#caller/wav.ts';
import { recordWav, type Utterance } from './microphone.ts';

const MODULES = '/usr/lib/baresip/modules';
/** Extra time for ringing, answering and hanging up. */
const SPARE_SECONDS = 6;

/** Calls and plays the microphone; at its end baresip hangs up. Resolves with the received audio. */
export async function callWithBaresip(
  target: string,
  from: string,
  utterances: readonly Utterance[],
): Promise<Wav> {
  const folder = mkdtempSync(join(tmpdir(), 'baresip-call-'));
  try {
    const microphone = recordWav(utterances, 8_000);
    writeFileSync(join(folder, 'microphone.wav'), microphone);
    writeFileSync(join(folder, 'contacts'), '');
    writeFileSync(
      join(folder, 'accounts'),
      `<sip:${from}@127.0.0.1>;regint=0;answermode=manual;audio_codecs=PCMU\n`,
    );
    writeFileSync(join(folder, 'config'), configuration(folder));
    const seconds = Math.ceil(microphone.length / 16_000) + SPARE_SECONDS;
    const child = spawn('baresip', ['-f', folder, '-e', `/dial ${target}`, '-t', String(seconds)], {
      stdio: 'ignore',
      cwd: folder,
    });
    await once(child, 'exit');
    const heard = readdirSync(folder).find((name) => name.endsWith('-dec.wav'));
    if (!heard) throw new Error('baresip heard nothing: its call was not answered');
    return parseWav(readFileSync(join(folder, heard)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function configuration(folder: string): string {
  return [
    `audio_source aufile,${join(folder, 'microphone.wav')}`,
    `audio_player aufile,${join(folder, 'unused.wav')}`,
    'ausrc_srate 8000',
    'auplay_srate 8000',
    'ausrc_channels 1',
    'auplay_channels 1',
    'rtp_ports 39500-39600',
    `snd_path ${folder}`,
    `module_path ${MODULES}`,
    ...['stdio', 'g711', 'aufile', 'sndfile', 'stun'].map((name) => `module ${name}.so`),
    ...['uuid', 'account'].map((name) => `module_tmp ${name}.so`),
    ...['contact', 'debug_cmd', 'menu'].map((name) => `module_app ${name}.so`),
    '',
  ].join('\n');
}
