/** Asks the API to ask a model about a test call. */
import { type Api, CommandError, type Json } from './api.ts';

/** Refusals that another run of the same test may not meet. */
const PASSING = new Set(['too_many_at_once', 'too_many_a_minute']);

/**
 * The answer; null if the call is not running, because the agent has just hung up. Throws a plain error for
 * what ends one run only, such as a model that fails, and `CommandError`.
 */
export async function askOfTestCall(api: Pick<Api, 'post'>, path: string, body: object): Promise<Json> {
  try {
    return await api.post(path, body);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (error.reason === 'test_call_not_running') return null;
    const isPassing = (error.status ?? 0) >= 500 || PASSING.has(error.reason ?? '');
    throw isPassing ? new Error(error.message) : error;
  }
}
