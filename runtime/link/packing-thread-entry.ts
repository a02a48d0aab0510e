/** The thread that compresses recordings, and encrypts and stores objects; `packer.ts` is the other side. */
import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { createSealer } from '#base/sealer.ts';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { request } from '#base/undici.ts';
import { OBJECT_TYPE, provesStorage } from '#media/blobs/blob-store.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { flacFile } from '#media/speech/audio/flac-format.ts';
import type { ObjectAddress, PieceHead } from '#protocol/uploads.ts';

/** For one attempt, including its body. */
const ATTEMPT_MS = 20_000;

/** Samples to encode. */
export interface EncodingJob {
  readonly id: number;
  readonly samples: Int16Array;
  readonly rateHz: number;
  readonly firstSample: number;
}

/** An object to store. */
export interface StoringJob {
  readonly id: number;
  readonly head: PieceHead;
  readonly bytes: Uint8Array;
  readonly address: ObjectAddress;
}

/** The answer to an encoding job. */
export interface EncodedAudio {
  readonly id: number;
  readonly frames: Uint8Array<ArrayBuffer>;
}

/** The answer to a storing job; `failure` is null if the object is stored. */
export interface StoredObject {
  readonly id: number;
  readonly failure: string | null;
}

treatThisThreadAsOthers();
parentPort?.on('message', (job: EncodingJob | StoringJob) => {
  if ('address' in job) void store(job);
  else encode(job);
});

function encode({ id, samples, rateHz, firstSample }: EncodingJob): void {
  const answer: EncodedAudio = { id, frames: encodeFlac(samples, rateHz, firstSample) };
  parentPort?.postMessage(answer, [answer.frames.buffer]);
}

async function store(job: StoringJob): Promise<void> {
  const failure = await putSealed(job).catch((error: unknown) => String(error));
  parentPort?.postMessage({ id: job.id, failure } satisfies StoredObject);
}

async function putSealed({ head, bytes, address }: StoringJob): Promise<string | null> {
  const { url, key, name } = address;
  const file =
    head.type === 'audio' ? flacFile([bytes], { rateHz: head.rate_hz, samples: head.samples }) : bytes;
  const body = createSealer(Buffer.from(key, 'base64')).seal(file, name);
  return await put(url, body);
}

/** Returns why it failed, or null: every copy of the object is dropped then. The bucket checks the MD5. */
async function put(url: string, body: Buffer): Promise<string | null> {
  const response = await request(url, {
    method: 'PUT',
    // The type is signed with the address.
    headers: { 'content-type': OBJECT_TYPE, 'content-md5': createHash('md5').update(body).digest('base64') },
    body,
    signal: AbortSignal.timeout(ATTEMPT_MS),
  });
  const answer = await response.body.text();
  // No more of the answer: it may contain the id of the access key.
  const code = /<Code>(\w+)<\/Code>/.exec(answer)?.[1] ?? '';
  if (response.statusCode >= 300) return `${response.statusCode} ${code}`.trim();
  return provesStorage(response.headers['etag']) ? null : `${response.statusCode} without ETag`;
}
