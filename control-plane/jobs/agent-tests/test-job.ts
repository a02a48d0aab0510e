/** The job of one run: the batch's draft and test as the plan of a text conversation. */
import { type AgentTestJob, testDefinition } from '#protocol/agent-test.ts';
import { buildPlan, refuseMissingVariables } from '../../calls/plans/build-plan.ts';
import { sessionTimezone } from '../../calls/plans/session-timezone.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import type { Context } from '../../platform/context.ts';
import type { TestInputDocument, TestRunDocument } from '../../platform/store/models/agent-test-model.ts';
import { draftInputId, type TestBatchDraft, testInputId } from './test-batch-store.ts';

/**
 * Creates the job; null if the batch's data is gone. Throws `InvalidRequest` if a required variable has no
 * value.
 */
export async function testJob(context: Context, run: TestRunDocument): Promise<AgentTestJob | null> {
  const ids = [draftInputId(run.batch_id), testInputId(run.batch_id, run.test_id)];
  const inputs = await context.models.testInputs.find({ _id: { $in: ids } }).lean<TestInputDocument[]>();
  const [draft, definition] = ids.map((id) => inputs.find((input) => input._id === id)?.content);
  if (draft === undefined || definition === undefined) return null;
  const { agent_name, version } = JSON.parse(draft) as TestBatchDraft;
  const test = testDefinition.parse(JSON.parse(definition));
  const plan = buildPlan(context, {
    sessionId: run._id,
    agent: { _id: run.agent_id, name: agent_name },
    version,
    knowledge: await planKnowledge(context, version),
    channel: run.channel,
    // A text conversation has no connections.
    transport: { type: 'webrtc' },
    timezone: sessionTimezone({
      requested: null,
      agent: version.config.conversation.timezone,
      client: null,
      phoneNumber: '',
    }),
    callerNumber: '',
    dialedNumber: '',
    overrides: {},
    variables: test.dynamic_variables,
    endUserId: null,
    llmExtraBody: null,
    recordAudio: false,
    toolEvents: false,
    worldContext: true,
    isPreview: true,
    simulatedUserModel: test.simulation?.simulated_user_model ?? null,
  });
  refuseMissingVariables(plan);
  const stored_mocks = version.tools.flatMap(({ tool_id, mock_responses: [first] }) =>
    first ? [{ tool_id, status_code: first.status_code, body: first.body }] : [],
  );
  return { run_id: run._id, plan, test, stored_mocks };
}
