/** Transcribes received audio: pocketsphinx with a grammar of the candidate sentences. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { PAYLOAD_PCMU, parseRtp, samplesOf } from '#caller/rtp.ts';
import { toWav } from '#media/speech/audio/wav.ts';

const PHONE_RATE_HZ = 8_000;

/**
 * Returns the sentences of `candidates` found in phone audio (8 or 16 kHz), in order. Candidates are
 * lower-case words.
 */
export async function transcribe(
  samples: Int16Array,
  candidates: readonly string[],
  rateHz = PHONE_RATE_HZ,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'ear-'));
  try {
    writeFileSync(
      join(folder, 'heard.wav'),
      toWav(rateHz === PHONE_RATE_HZ ? withUpperBand(samples) : samples, 2 * PHONE_RATE_HZ),
    );
    writeFileSync(
      join(folder, 'sentences.gram'),
      `#JSGF V1.0;\ngrammar sentences;\npublic <sentence> = ${candidates.join(' | ')};\n`,
    );
    const child = spawn(
      'pocketsphinx_continuous',
      ['-infile', 'heard.wav', '-jsgf', 'sentences.gram', '-logfn', '/dev/null'],
      {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const printed: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => printed.push(text));
    await once(child, 'close');
    return printed
      .join('')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The agent's audio in a capture, in order of arrival at this port. */
export function heardOn(port: number, datagrams: readonly CapturedDatagram[]): Int16Array {
  const packets = datagrams
    .filter((datagram) => datagram.destinationPort === port)
    .map(({ payload }) => parseRtp(payload));
  return Int16Array.from(
    packets.flatMap((packet) => (packet?.payloadType === PAYLOAD_PCMU ? [...samplesOf(packet.payload)] : [])),
  );
}

/**
 * Doubles the rate by inserting zeros: the mirror image fills the upper band, without which the 16 kHz model
 * recognises nothing.
 */
function withUpperBand(samples: Int16Array): Int16Array {
  const doubled = new Int16Array(2 * samples.length);
  for (const [index, sample] of samples.entries()) doubled[2 * index] = sample;
  return doubled;
}
