/** Words by which people stop, resume and ask about text messages, as carriers agree on them (CTIA). Pure. */

/** A command in a message. */
export type Keyword = 'STOP' | 'START' | 'HELP';

const WORDS: Readonly<Record<string, Keyword>> = {
  STOP: 'STOP',
  STOPALL: 'STOP',
  'STOP ALL': 'STOP',
  UNSUBSCRIBE: 'STOP',
  CANCEL: 'STOP',
  END: 'STOP',
  QUIT: 'STOP',
  OPTOUT: 'STOP',
  'OPT-OUT': 'STOP',
  REVOKE: 'STOP',
  START: 'START',
  UNSTOP: 'START',
  HELP: 'HELP',
  INFO: 'HELP',
};
const LONGEST = 20;

/** The keyword of a message; null for any other message: the word must be all of it. */
export function keywordOf(text: string): Keyword | null {
  const word = text.trim();
  if (word.length > LONGEST) return null;
  return WORDS[word.toUpperCase().replace(/[.!]$/, '')] ?? null;
}

/** The answer to a keyword. */
export function keywordAnswer(keyword: Keyword, agentName: string): string {
  switch (keyword) {
    case 'STOP':
      return 'You will get no more messages from this number. Reply START to get them again.';
    case 'START':
      return 'You will get messages from this number again. Reply STOP to get no more.';
    case 'HELP':
      return `${agentName}: automatic answers by text message. Reply STOP to get no more messages.`;
    default:
      return keyword satisfies never;
  }
}
