/** The rules by which the turn machine decides, in words. */

const RULES: Readonly<Record<string, string>> = {
  punctuation: 'a finished sentence',
  plain: 'no sign that more was to come',
  comma: 'a comma',
  hesitation: 'a hesitation',
  hanging_word: 'a word after which more is to come',
  half_number: 'half a number',
  local_number: 'a number that may be whole',
  half_email: 'half an e-mail address',
  spelling: 'a name being spelled',
  as_expected: 'the answer that was asked for',
  short_of_expected: 'less than was asked for',
  no_words: 'speech without words',
  late_final: 'words that came late',
  reengage: 'the caller said nothing and was asked',
  idle_hangup: 'the caller said nothing',
  unheard: 'words that never came were asked for again',
  keypad: 'more keys',
  end_of_call: 'the call was ended meanwhile',
  background_result: 'until a result came',
  line_queue: 'on hold',
  line_asked_to_wait: 'on hold, as was asked',
  line_music: 'on hold, with music',
  line_repeated: 'on hold, with an announcement heard before',
  line_menu: 'an automated menu',
  line_screening: 'a phone screened the call',
  line_announcement: 'an announcement',
  line_ended: 'nobody to come',
  was_hold: 'on hold',
  was_menu: 'an automated menu spoke',
  was_screening: 'a phone screened the call',
  retried: 'it failed and was asked again',
  gave_up_turn: 'it failed',
  claimed_keys: 'it said that it pressed keys, and pressed none',
};

/** Human-readable meaning of a turn machine rule. */
export function meaningOf(rule: string): string {
  return RULES[rule] ?? rule.replaceAll('_', ' ');
}
