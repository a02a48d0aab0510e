/** Records in the audit log what Parley itself has done to an agent, without a request. */
import type { Context } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';

/** The author of an entry that no person has caused. */
const NO_KEY = 'parley';

/** A step of Parley itself. */
export interface OwnStep {
  /** The same at every repetition, which then changes nothing. */
  readonly id: string;
  readonly teamId: string;
  readonly agentId: string;
  /** Such as `STOP`, in place of the method of a request. */
  readonly verb: string;
  /** The part of the agent, as its route names it. */
  readonly part: 'share' | 'learning';
  readonly requestId: string;
  readonly at: Date;
}

/** Stores the entry, unless it is stored. */
export async function recordOwnStep(
  { models }: Pick<Context, 'models'>,
  { id, teamId, agentId, verb, part, requestId, at }: OwnStep,
): Promise<void> {
  await insertDocuments(models.auditLog, [
    {
      _id: id,
      team_id: teamId,
      user_id: NO_KEY,
      key_id: NO_KEY,
      action: `${verb} /v1/agent/agents/{agent_id}/${part}`,
      resource: 'agents',
      resource_id: agentId,
      fields: [part],
      request_id: requestId,
      created_at: at,
    },
  ]);
}
