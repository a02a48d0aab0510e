/** How a worker uploads recordings and flight logs, its own and those that dead workers have left. */
import { mkdir, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { leftDirectories } from '#runtime/link/kept-files.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { LeftPieces } from '#runtime/link/left-pieces.ts';
import { ObjectSender } from '#runtime/link/object-sender.ts';
import { createPacker } from '#runtime/link/packer.ts';
import { spoolOf } from '#runtime/link/spool.ts';
import { createUploadSender } from '#runtime/link/upload-sender.ts';
import { createUploads, type Uploads } from '#runtime/link/uploads.ts';
import type { WorkerDeps } from '#runtime/worker/worker.ts';
import type { WorkerMetrics } from '#runtime/worker/worker-metrics.ts';

/** Half a minute. A left file is tried again every ten minutes, and the next one waits for each attempt. */
const RETRIES_OF_LEFT = 8;

/** Uploads of a worker. */
export interface Recordings {
  readonly uploads: Uploads;
  /** Size of the pieces on the disk that wait to be sent again. */
  leftBytes(): number;
  /** Takes the pieces of these dead instances, and of those that have no spool any more; never rejects. */
  takeLeft(instances: Iterable<string>): Promise<void>;
  /** Pieces that are not stored stay on the disk for the next worker. */
  close(): Promise<void>;
}

/** Parts of the worker that uploads. */
export interface RecordingsParts {
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  readonly instanceId: string;
  /** Folder of the spools. */
  readonly spools: string;
}

/** Opens the uploads of a worker whose spool is open. */
export async function openRecordings(
  { controlPlaneUrl: url, token }: Pick<WorkerDeps, 'controlPlaneUrl' | 'token'>,
  { metrics, logger, instanceId, spools }: RecordingsParts,
): Promise<Recordings> {
  const clock = systemClock;
  // Not in the spool: workers one version older remove those of dead workers as a whole.
  const pieces = join(dirname(spools), 'pieces');
  const directory = spoolOf(pieces, instanceId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const packer = createPacker();
  const onLost = () => metrics.uploadsDropped.inc({});
  const way = { url, token, clock, logger };
  const objects = new ObjectSender({ ...way, instanceId, packer, sender: createUploadSender(way) });
  const ofLeft = createUploadSender({ ...way, retries: RETRIES_OF_LEFT });
  const left = new LeftPieces({ directory, sender: ofLeft, clock, logger });
  const kept = new KeptPieces({ directory, left, clock, logger });
  return {
    uploads: createUploads({ clock, logger, onLost, sender: createUploadSender(way), objects, packer, kept }),
    leftBytes: () => left.bytes,
    async takeLeft(instances) {
      const taken = new Set(instances);
      const directories = await leftDirectories(pieces, { spools, taken }).catch((error: unknown) => {
        logger.warn({ err: error }, 'recordings of dead workers cannot be found');
        return [];
      });
      await left.adopt(directories.filter((one) => basename(one) !== basename(directory)));
    },
    async close() {
      await kept.close();
      await packer.close();
      // Unless something is left in it.
      await rmdir(directory).catch(() => undefined);
    },
  };
}
