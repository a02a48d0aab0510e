/**
 * Jobs that wait in the store for a worker. One that is started has a worker and a higher epoch; one whose
 * worker is lost waits again, but not too often (`worker-losses.ts`).
 */
import { Fault } from '#config/errors.ts';
import type { JobKind } from '#protocol/worker-link.ts';
import { type Context, now } from '../context.ts';
import type { Placement, SessionKey } from '../dispatch.ts';
import type { Model, UpdateQuery } from '../store/schema.ts';
import { type Loss, type Losses, lossOf } from '../store/worker-losses.ts';

/** The fields of a document that is such a job. */
interface QueuedJob {
  readonly _id: string;
  readonly status: string;
  readonly status_at: Date;
  readonly instance_id: string | null;
  readonly epoch: number;
  readonly losses?: Losses;
}

type Parts = Pick<Context, 'clock'>;

/** Queues the jobs of a lost worker again and returns their number; `hungIn` had blocked its event loop. */
export async function requeueLost<Stored extends QueuedJob>(
  context: Parts,
  model: Model<Stored>,
  { instanceId, hungIn }: { readonly instanceId: string; readonly hungIn: string | null },
): Promise<number> {
  const lost = { instance_id: instanceId, status: 'running' };
  const jobs = await model.find(lost as never, { epoch: 1 }).lean<Pick<QueuedJob, '_id' | 'epoch'>[]>();
  for (const { _id, epoch } of jobs)
    await model.updateOne({ _id, epoch, ...lost } as never, queuedAfter(context, lossOf(_id, hungIn)));
  return jobs.length;
}

/** Queues the jobs again whose workers have been silent since `since`. */
export async function requeueSilent<Stored extends QueuedJob>(
  context: Parts,
  model: Model<Stored>,
  since: Date,
): Promise<void> {
  const silent = { status: 'running', status_at: { $lte: since } } as never;
  if (await model.exists(silent)) await model.updateMany(silent, queuedAfter(context, 'silent'));
}

/** How a job is started. */
export interface JobStart {
  readonly kind: JobKind;
  /** Called once the store says that the job has this worker. */
  readonly assign: (placement: Placement, key: SessionKey) => void;
  /** Further fields of a job that is started at this time. */
  readonly fields?: (at: Date) => Readonly<Record<string, unknown>>;
}

/** Starts a queued job on a worker, unless it is started or over meanwhile; false if no worker is free. */
export async function startQueued<Stored extends QueuedJob>(
  context: Parts & Pick<Context, 'dispatch'>,
  { model, job }: { readonly model: Model<Stored>; readonly job: QueuedJob },
  { kind, assign, fields }: JobStart,
): Promise<boolean> {
  const { dispatch } = context;
  const key = { sessionId: job._id, epoch: job.epoch + 1 };
  let placement: Placement | null = null;
  try {
    placement = await dispatch.place({ ...key, kind, sipCallId: null });
    const at = now(context);
    const started = { epoch: key.epoch, instance_id: placement.instanceId, status: 'running', status_at: at };
    const { modifiedCount } = await model.updateOne(
      { _id: job._id, status: 'queued', epoch: job.epoch } as never,
      { $set: { ...fields?.(at), ...started } } as never,
    );
    if (modifiedCount === 0) dispatch.withdraw(placement, key);
    else assign(placement, key);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // If it was marked as started, it was never assigned, so it is queued again; not if another replica has
    // started the same attempt meanwhile.
    if (placement)
      await model.updateOne(
        { _id: job._id, status: 'running', epoch: key.epoch, instance_id: placement.instanceId } as never,
        { $set: queuedFields(context) } as never,
      );
    return false;
  }
}

function queuedFields(context: Parts) {
  return { status: 'queued', instance_id: null, status_at: now(context) };
}

function queuedAfter<Stored>(context: Parts, loss: Loss): UpdateQuery<Stored> {
  return { $set: queuedFields(context), $inc: { [`losses.${loss}`]: 1 } } as never;
}
