/** Checks a simulation's assertions about tool calls and its end, and gives the overall verdict. Pure. */
import type { AgentTestResult, Simulation } from '#protocol/agent-test.ts';
import { argumentsMatch, parsedArguments } from './patterns.ts';
import type { RecordedCall, TestTools } from './test-tools.ts';

type SimulationResult = NonNullable<AgentTestResult['simulation_result']>;
type Assertion = SimulationResult['assertions'][number];
type EndedBy = NonNullable<AgentTestResult['ended_by']>;

/** Checks every assertion, in the test's order. */
export function checkAssertions(
  asserted: Simulation['assertions'],
  of: {
    readonly calls: readonly RecordedCall[];
    readonly endedBy: EndedBy;
    readonly tools: TestTools;
  },
): Assertion[] {
  const callsOf = (name: string) => of.calls.filter((call) => of.tools.isNamed(call.tool_name, name));
  const toolCalls = asserted.tool_calls.map((assertion): Assertion => {
    const target = { kind: 'tool_call' as const, target: assertion.tool };
    const count = callsOf(assertion.tool).filter((call) =>
      argumentsMatch(assertion.params, parsedArguments(call.arguments)),
    ).length;
    const { min_calls, max_calls } = assertion;
    const passed = count >= min_calls && (max_calls === null || count <= max_calls);
    const wanted = max_calls === null ? `at least ${min_calls}` : `${min_calls} to ${max_calls}`;
    return { ...target, passed, detail: `${count} matching calls, ${wanted} expected` };
  });
  const forbidden = asserted.forbidden_tools.map((tool): Assertion => {
    const count = callsOf(tool).length;
    return { kind: 'forbidden_tool', target: tool, passed: count === 0, detail: `called ${count} times` };
  });
  return [...toolCalls, ...forbidden, ...endAssertion(asserted.ended_by, of.endedBy)];
}

function endAssertion(expected: Simulation['assertions']['ended_by'], endedBy: EndedBy): Assertion[] {
  if (expected === null) return [];
  const passed = expected === 'any' ? ['agent', 'user', 'transfer'].includes(endedBy) : endedBy === expected;
  return [{ kind: 'ended_by', target: expected, passed, detail: `ended by ${endedBy}` }];
}

/**
 * A failed assertion or condition fails the run. So do an unknown verdict and a call without a mock, and
 * these also need review.
 */
export function verdictOf(of: {
  readonly assertions: readonly Pick<Assertion, 'passed'>[];
  readonly conditions: readonly { readonly result: 'success' | 'failure' | 'unknown' }[];
  readonly gaps: number;
}): Pick<AgentTestResult, 'status' | 'needs_review'> {
  const needs_review = of.gaps > 0 || of.conditions.some(({ result }) => result === 'unknown');
  const isMet =
    of.assertions.every(({ passed }) => passed) && of.conditions.every(({ result }) => result === 'success');
  return { status: isMet && !needs_review ? 'passed' : 'failed', needs_review };
}
