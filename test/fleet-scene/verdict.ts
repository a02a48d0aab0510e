/** The verdict on a case. */
import { quantile } from '#caller/statistics.ts';
import type { CaseResult } from './run-case.ts';

/** What the verdict looks at. */
export type Judged = Omit<CaseResult, 'of' | 'pausesMs'> & {
  readonly of: Pick<CaseResult['of'], 'isLoss' | 'limitMs'>;
};

/** What was missed; empty if nothing was. */
export function missesOf(result: Judged): string[] {
  const { of, phones, participants, heard, gapsMs, books, problems, struck } = result;
  const calls = phones + participants;
  return [
    ...struck.probed.flatMap(({ of: what, before, during }) => [
      ...(before ? [] : [`${what}: did not work before the fault either`]),
      ...(during ? [`${what}: worked in spite of the fault`] : []),
    ]),
    ...(books.sessions === calls ? [] : [`${calls} calls became ${books.sessions} sessions`]),
    ...(heard === phones ? [] : [`${heard} of ${phones} phones heard the agent`]),
    ...books.dropped.map((session) => `dropped ${session}`),
    ...(of.isLoss ? lossMisses(result) : []),
    ...(of.limitMs === 0 && gapsMs.length > 0 ? [`${gapsMs.length} calls were disturbed`] : []),
    ...(books.unreported === 0 ? [] : [`${books.unreported} calls were not reported`]),
    ...books.flaws,
    ...problems,
  ];
}

/** A lost machine disturbs its own calls, which are taken over in time, and no others. */
function lossMisses({ of, gapsMs, books, struck }: Judged): string[] {
  const never = gapsMs.filter((ms) => !Number.isFinite(ms)).length;
  const p95 = gapsMs.length === 0 ? 0 : quantile(gapsMs, 0.95);
  return [
    ...(books.takenOver > 0 ? [] : ['no call was taken over']),
    ...(gapsMs.length > 0 ? [] : ['nobody noticed the loss']),
    ...(gapsMs.length > struck.calls
      ? [`${gapsMs.length} calls were disturbed, but the lost machine had ${struck.calls}`]
      : []),
    ...(never === 0 ? [] : [`${never} callers never heard the agent again`]),
    ...(p95 > of.limitMs ? [`p95 of the gap was ${p95 / 1_000} s`] : []),
  ];
}
