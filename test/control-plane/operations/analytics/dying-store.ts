/** A store whose process dies at one of its writes. */
import type { Context } from '#control-plane/platform/context.ts';
import { WRITE_METHODS } from '#control-plane/platform/store/collection-methods.ts';

type Method = (...parameters: unknown[]) => Promise<unknown>;
const DIED = 'the process has died';
const WRITES = new Set<string | symbol>(WRITE_METHODS);

/**
 * The context of a process that makes `writes` changes to sums, shares, scorecards, sessions, archived or
 * not, deliveries and the audit log, and dies at the next: before it, or if `isApplied`, before its answer. A
 * write of many documents is applied to the first half of them.
 */
export function dyingAfter(context: Context, writes: number, isApplied: boolean): Context {
  let left = writes;
  const write = async (apply: Method, parameters: unknown[]) => {
    left -= 1;
    if (left >= 0) return apply(...parameters);
    const [first, ...others] = parameters;
    const half = Array.isArray(first) ? first.slice(0, Math.ceil(first.length / 2)) : first;
    if (left === -1 && isApplied) await apply(half, ...others);
    throw new Error(DIED);
  };
  const watched = (collection: object) =>
    new Proxy(collection, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as Method;
        if (typeof value !== 'function') return value;
        const apply: Method = (...parameters) => value.apply(target, parameters);
        return WRITES.has(name) ? (...parameters: unknown[]) => write(apply, parameters) : apply;
      },
    });
  const { sessions, callCounts, shares, scorecards, scoredCalls, scoreWatches } = context.models;
  const { auditLog, deliveries } = context.models;
  const { db } = sessions;
  const months = new Proxy(db, {
    get: (target, name) =>
      name === 'collection' ? (month: string) => watched(db.collection(month)) : Reflect.get(target, name),
  });
  const dying = <Model extends { readonly collection: object }>(model: Model): Model =>
    Object.create(model, {
      collection: { value: watched(model.collection) },
      db: { value: months },
    }) as Model;
  return {
    ...context,
    models: {
      ...context.models,
      sessions: dying(sessions),
      callCounts: dying(callCounts),
      shares: dying(shares),
      scorecards: dying(scorecards),
      scoredCalls: dying(scoredCalls),
      scoreWatches: dying(scoreWatches),
      auditLog: dying(auditLog),
      deliveries: dying(deliveries),
    },
  };
}

/** Waits for what such a process does, whether it comes so far that it dies or not. */
export async function untilItDies(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!String(error).includes(DIED)) throw error;
  });
}
