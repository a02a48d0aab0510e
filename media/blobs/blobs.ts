/** Opens the store of recordings and uploaded samples (`BLOBS_URL`): a directory or an S3 bucket. */
import { fileURLToPath } from 'node:url';
import type { Blobs } from './blob-store.ts';
import { createDirectoryBlobs } from './directory-blobs.ts';
import { createS3Blobs, type S3Credentials } from './s3-blobs.ts';

export type { Blobs };

/**
 * Opens a directory (a path or a `file:` URL) or `s3://bucket[/prefix][?endpoint=…&region=…]`. Throws if the
 * address is malformed or credentials of S3 are missing.
 */
export function openBlobs(url: string, credentials?: S3Credentials): Blobs {
  if (url.startsWith('s3:')) {
    if (!credentials)
      throw new Error('BLOBS_URL names an S3 bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
    return createS3Blobs(url, credentials);
  }
  if (url.startsWith('file:')) return createDirectoryBlobs(fileURLToPath(url));
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(url))
    throw new Error('BLOBS_URL must be a directory or s3://bucket?endpoint=…');
  return createDirectoryBlobs(url);
}
