/** An agent test as written by clients and as shown by the API. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { simulation, testDefinition, testType } from '#protocol/agent-test.ts';
import type { AgentTestDocument } from '../../platform/store/models/agent-test-model.ts';

const name = z.string().min(1).max(200);
const agentIds = z
  .array(z.string().min(1).max(64))
  .max(LIMITS.testAgents)
  .refine((ids) => new Set(ids).size === ids.length, 'an agent is listed twice');

const shape = testDefinition.shape;

/** Body of a creation; `testProblems` checks what involves several fields. */
export const testCreate = testDefinition.extend({ name, agent_ids: agentIds.default([]) });
export type TestInput = z.output<typeof testCreate>;

const { assertions, tool_mocks } = simulation.shape;

/**
 * Body of a change; `test_type` cannot change. Lists and `dynamic_variables` are replaced as a whole,
 * `simulation` is merged.
 */
export const testPatch = z
  .strictObject({
    name,
    agent_ids: agentIds,
    conversation: shape.conversation.unwrap(),
    expectation: shape.expectation.unwrap(),
    success_examples: shape.success_examples.unwrap(),
    failure_examples: shape.failure_examples.unwrap(),
    referenced_tool: shape.referenced_tool.unwrap(),
    tool_parameters: shape.tool_parameters.unwrap(),
    verify_absence: shape.verify_absence.unwrap(),
    dynamic_variables: shape.dynamic_variables.unwrap(),
    simulation: z
      .strictObject({
        scenario: simulation.shape.scenario,
        max_turns: simulation.shape.max_turns.unwrap(),
        success_conditions: simulation.shape.success_conditions,
        assertions: partialOf(assertions.unwrap()),
        tool_mocks: partialOf(tool_mocks.unwrap()),
        repeat_count: simulation.shape.repeat_count.unwrap(),
        channel: simulation.shape.channel.unwrap(),
        simulated_user_model: simulation.shape.simulated_user_model.unwrap(),
      })
      .partial(),
  })
  .partial();
export type TestPatch = z.output<typeof testPatch>;

/** A whole test. */
export const testRecord = testDefinition.extend({
  test_id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  test_type: testType,
  agent_ids: z.array(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** Converts a test for the API. */
export function toTestRecord(test: AgentTestDocument): z.output<typeof testRecord> {
  return {
    test_id: test._id,
    workspace_id: test.workspace_id,
    name: test.name,
    agent_ids: test.agent_ids,
    ...definitionOf(test),
    created_at: test.created_at.toISOString(),
    updated_at: test.updated_at.toISOString(),
  };
}

/** The criteria of a stored test. */
export function definitionOf(test: Pick<AgentTestDocument, 'definition'>): z.output<typeof testDefinition> {
  return testDefinition.parse(JSON.parse(test.definition));
}

/** Every field optional, without defaults. */
function partialOf<Shape extends Record<string, z.ZodDefault>>(object: z.ZodObject<Shape>) {
  const bare = Object.fromEntries(
    Object.entries(object.shape).map(([field, schema]) => [field, schema.unwrap()]),
  );
  return z.strictObject(bare as { [Field in keyof Shape]: ReturnType<Shape[Field]['unwrap']> }).partial();
}
