/** Changes of what the far end is taken for, each with its reason. */
import { type Draft, emit, explain } from './draft.ts';
import { isAutomated } from './line-state.ts';
import type { LineStretch } from './turn-effects.ts';
import type { Line } from './turn-state.ts';

/** Changes fields of the line. */
export function noteLine(draft: Draft, changes: Partial<Line>): void {
  if (draft.line) draft.line = { ...draft.line, ...changes };
}

/** The far end is taken for something else from now on: a stretch of an automated line is over. */
export function changeLine(
  draft: Draft,
  is: Line['is'],
  why: { readonly rule: string } & Pick<LineStretch, 'endedBy' | 'gaveUp'>,
): void {
  const { line, atMs } = draft;
  if (!line || line.is === is) return;
  if (isAutomated(line)) {
    const { endedBy, gaveUp } = why;
    emit(draft, {
      do: 'line',
      stretch: {
        is: line.is,
        fromMs: line.sinceMs,
        untilMs: atMs,
        endedBy,
        ...(gaveUp ? { gaveUp } : {}),
      },
    });
    explain(draft, { about: 'line', rule: `was_${line.is}`, anchorMs: line.sinceMs, deadlineMs: atMs });
  } else explain(draft, { about: 'line', rule: why.rule, anchorMs: atMs, deadlineMs: atMs });
  noteLine(draft, { is, sinceMs: atMs, quietSinceMs: atMs, isProbed: false });
}
