/**
 * Entry point of the bucket of the retention bench: a process of its own, because its work is not the
 * product's.
 */
import { S3_CREDENTIALS, startS3Server } from '#test/fakes/s3-server.ts';

/** Objects to store. */
export interface BucketJob {
  readonly keys: readonly string[];
}

/** State of the bucket since the last job. */
export interface BucketState {
  readonly endpoint: string;
  readonly credentials: typeof S3_CREDENTIALS;
  readonly objects: number;
  readonly requests: number;
  /** Requests that delete objects. */
  readonly deletions: number;
}

/** As a bucket in another data centre of the region. */
const ANSWER_AFTER_MS = 20;

const { endpoint, objects, requests } = await startS3Server({
  pageKeys: 1_000,
  answerAfterMs: ANSWER_AFTER_MS,
});
process.on('message', ({ keys }: BucketJob) => {
  for (const key of keys) objects.set(key, Buffer.alloc(1));
  if (keys.length > 0) requests.length = 0;
  process.send?.({
    endpoint,
    credentials: S3_CREDENTIALS,
    objects: objects.size,
    requests: requests.length,
    deletions: requests.filter((request) => !request.startsWith('GET')).length,
  } satisfies BucketState);
});
process.on('disconnect', () => process.exit(0));
