/** Deletes what is measured of an agent that is deleted (docs/regret.md). */
import type { Context } from '../context.ts';

/** Deletes its sums, and how far its calls are measured. */
export async function forgetRegret({ models }: Pick<Context, 'models'>, agentId: string): Promise<void> {
  await models.regrets.deleteOne({ _id: agentId });
  await models.regretDays.deleteMany({ agent_id: agentId });
}
