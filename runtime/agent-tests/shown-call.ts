/** A call as a judge or a simulated caller reads it: data, which cannot leave its place in a prompt. */
import type { SessionItem } from '#protocol/session-record.ts';

const SPEAKERS = { user: 'Caller', assistant: 'Agent', human: 'Colleague' } as const;

/** Without tags, so that no text can end its own. */
export function inert(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›');
}

/** In one line, so that no text can pretend to be another entry of the call or an action. */
export function inLine(text: string): string {
  return text.replace(/[\p{Zl}\p{Zp}\p{Cc}]/gu, ' ');
}

/** The entries of a call, each in one line. */
export function callLines(items: readonly SessionItem[]): string {
  return items.flatMap(lineOf).join('\n');
}

function lineOf(item: SessionItem): string[] {
  switch (item.type) {
    case 'message':
      return [`${SPEAKERS[item.role]}: ${inLine(item.content)}`];
    case 'tool_call':
      return [`Agent calls ${item.tool_name} with ${inLine(item.input)}`];
    case 'tool_result':
      return [`${item.tool_name} answers: ${inLine(item.output ?? item.error ?? 'nothing')}`];
    default:
      return [];
  }
}
