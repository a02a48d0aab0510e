/** Seeded defects of the rules for automated lines, in runtime/turn/machine. */
import type { Defect, DefectRow } from './defects.ts';

export const LINE_DEFECTS: readonly DefectRow[] = [
  [
    'talks-into-music',
    'the agent goes on talking when hold music begins',
    'line/announcements.ts',
    "cut(draft, 'automated_line');",
    '',
  ],
  [
    'idle-on-hold',
    'a queue is asked whether it is still there, and hung up on',
    'timers.ts',
    '!isAutomated(line) &&',
    '',
  ],
  [
    'gives-up-on-all',
    'the agent takes a person for a mailbox and hangs up',
    'line/line.ts',
    'isMailbox: mayBeMailbox && isMailbox(text),',
    'isMailbox: mayBeMailbox,',
  ],
  [
    'deaf-on-hold',
    'a person who comes back is taken for an announcement',
    'line/line.ts',
    'line.announcements.some((earlier) => isRepeated(words, earlier))',
    "words !== ''",
  ],
  [
    'no-line-timer',
    'a menu that has ended is never answered',
    'line/line.ts',
    "else startTimer(draft, 'line', dueMs);",
    '',
  ],
];

/** Whether only calls to automated lines can show it. */
export function isOfLines({ name }: Pick<Defect, 'name'>): boolean {
  return LINE_DEFECTS.some(([of]) => of === name);
}
