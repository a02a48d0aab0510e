/** Says when to come back, where a place in the pool is refused. */
import type { FastifyReply } from 'fastify';
import { Fault } from '#config/errors.ts';

/** Most requests are over by then. */
export const RETRY_AFTER_SECONDS = '1';

/** Runs an admission; a 429 of it carries `Retry-After`. */
export async function retryLater<T>(reply: FastifyReply, admission: () => Promise<T>): Promise<T> {
  try {
    return await admission();
  } catch (error) {
    if (error instanceof Fault && error.status === 429) reply.header('Retry-After', RETRY_AFTER_SECONDS);
    throw error;
  }
}
