/** How a worker uploads recordings and flight logs, and what dead workers have left of theirs. */
import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { LeftPieces } from '#runtime/link/left-pieces.ts';
import { ObjectSender } from '#runtime/link/object-sender.ts';
import { createPacker } from '#runtime/link/packer.ts';
import { spoolOf } from '#runtime/link/spool.ts';
import { createUploadSender } from '#runtime/link/upload-sender.ts';
import { createUploads, type Uploads } from '#runtime/link/uploads.ts';
import type { WorkerDeps } from '#runtime/worker/worker.ts';
import type { WorkerMetrics } from '#runtime/worker/worker-metrics.ts';

/** Uploads of a worker. */
export interface Recordings {
  readonly uploads: Uploads;
  /** Takes what is in the spools of these dead instances, before they are removed. */
  takeLeft(instances: Iterable<string>): Promise<void>;
  /** What is not stored stays in the spool, which must be closed after this. */
  close(): Promise<void>;
}

/** Parts of the worker that uploads. */
export interface RecordingsParts {
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  readonly instanceId: string;
  /** Folder of the spools. */
  readonly root: string;
}

/** Opens the uploads of a worker whose spool is open. */
export function openRecordings(
  { controlPlaneUrl: url, token }: Pick<WorkerDeps, 'controlPlaneUrl' | 'token'>,
  { metrics, logger, instanceId, root }: RecordingsParts,
): Recordings {
  const clock = systemClock;
  const directory = spoolOf(root, instanceId);
  const packer = createPacker();
  const onDropped = () => metrics.uploadsDropped.inc({});
  const openSender = () => createUploadSender({ url, token, clock, logger, onDropped });
  const ofObjects = openSender();
  const objects = new ObjectSender({ url, token, instanceId, clock, logger, packer, sender: ofObjects });
  const kept = new KeptPieces({ directory, clock, logger });
  const left = new LeftPieces({ directory, sender: ofObjects, clock, logger });
  return {
    uploads: createUploads({ clock, sender: openSender(), objects, packer, kept }),
    takeLeft: (instances) => left.adopt([...instances].map((name) => spoolOf(root, name))),
    async close() {
      await kept.close();
      await packer.close();
    },
  };
}
