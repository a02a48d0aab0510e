/**
 * `npm run fuzz:audio -- [--runs 100000] [--seed n]`: feeds damaged recordings to the decoder in this
 * process; prints the results and the memory use.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { decodeAudio } from '#media/speech/pool/decode.ts';
import { SpeechJobError } from '#media/speech/pool/speech-jobs.ts';
import { createRandom } from '#test/simulation/random.ts';
import { mutate } from './sip/mutate.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const runs = Number(values.runs);
const LONGEST_SECONDS = 60;
const FORMATS = [
  ['-f', 'wav'],
  ['-c:a', 'pcm_f32le', '-f', 'wav'],
  ['-b:a', '64k', '-f', 'mp3'],
  ['-f', 'flac'],
  ['-c:a', 'libopus', '-f', 'ogg'],
  ['-c:a', 'libvorbis', '-f', 'ogg'],
  ['-c:a', 'libopus', '-f', 'webm'],
];
const MB = 1 << 20;

const corpus = FORMATS.map((format) =>
  execFileSync('ffmpeg', [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    'sine=frequency=440:duration=0.6',
    '-ar',
    '16000',
    '-ac',
    '1',
    ...format,
    '-',
  ]),
);
const random = createRandom(seed);
const outcomes = new Map<string, number>();
const rss: number[] = [];
let slowestMs = 0;
console.log(`seed ${seed}, ${runs} files`);
for (let run = 0; run < runs; run++) {
  const startedMs = performance.now();
  const outcome = await outcomeOf(mutate(random.pick(corpus), corpus, random));
  slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  if ((run + 1) % Math.ceil(runs / 5) === 0) rss.push(process.memoryUsage.rss());
}
console.log([...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', '));
console.log(
  `slowest ${Math.round(slowestMs)} ms; memory after each fifth ` +
    `${rss.map((bytes) => Math.round(bytes / MB)).join(', ')} MB`,
);

async function outcomeOf(file: Buffer): Promise<string> {
  try {
    await decodeAudio(file, { longestSeconds: LONGEST_SECONDS, onBlock: () => {} });
    return 'decoded';
  } catch (error) {
    if (error instanceof SpeechJobError) return error.failure;
    throw error;
  }
}
