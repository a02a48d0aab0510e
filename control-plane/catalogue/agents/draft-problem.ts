/** A change of a draft, and what its rules find wrong with it. Problem texts never repeat the input. */
import { EgressRefused } from '#base/egress.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import type { Context } from '../../platform/context.ts';

/** One problem, at its place in the body. */
export interface Problem {
  readonly loc: readonly (string | number)[];
  readonly text: string;
}

/** A patched configuration to be saved. */
export interface DraftChange {
  readonly teamId: string;
  readonly before: AgentConfig;
  readonly patch: AgentConfigPatch;
  readonly after: AgentConfig;
}

/** The problem of an address that the egress guard refuses; none if it may be reached. */
export async function urlProblems(
  context: Pick<Context, 'egress'>,
  url: string,
  loc: Problem['loc'],
): Promise<Problem[]> {
  try {
    await context.egress.check(url);
    return [];
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    return [{ loc, text: error.message }];
  }
}
