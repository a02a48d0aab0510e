/** `parley tune --learn`: the learner of an agent’s waits, set and ended (docs/regret.md#the-learner). */
import { findAgentId } from './agent-sync.ts';
import { CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { show } from './output.ts';
import { printLearner } from './regret.ts';

/** Options of `tune` that are about learning. */
export interface LearnOptions {
  readonly learn?: boolean;
  readonly stopLearning?: boolean;
  readonly cutOffs?: number;
  readonly waitMin?: number;
  readonly waitMax?: number;
}

/** Sets or ends the learner. Throws `CommandError`. */
export async function learn(
  common: CommandContext,
  agent: string,
  { learn: begins, stopLearning, cutOffs, waitMin, waitMax }: LearnOptions,
): Promise<void> {
  if (begins && stopLearning) throw new CommandError('Choose one of --learn and --stop-learning');
  const api = common.api();
  const path = `/v1/agent/agents/${encodeURIComponent(await findAgentId(api, agent))}/learning`;
  if (stopLearning) {
    await api.send('DELETE', path);
    console.log('Learning has ended. The published version stays as it is.');
    return;
  }
  const learner = await api.put(path, {
    ...(cutOffs === undefined ? {} : { cut_off_bound: cutOffs }),
    ...(waitMin === undefined ? {} : { wait_min_ms: waitMin }),
    ...(waitMax === undefined ? {} : { wait_max_ms: waitMax }),
  });
  show(learner, common, () => printLearner(learner));
}
