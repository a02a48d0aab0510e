/**
 * Phrases that the demo agent's rule-based model (`local/demo`) understands, by intent. They are also the
 * demo agent's keyterms, so that a recogniser with a grammar recognises exactly what the model can answer.
 */

/** The phrases of each intent, in a caller's words. Every word is in the CMU pronouncing dictionary. */
export const DEMO_PHRASES = {
  opening_hours: ['what are your opening hours', 'opening hours', 'when are you open'],
  booking: ['i would like to book a table', 'book a table'],
  party_size: ['for two people', 'for three people', 'for four people', 'for six people'],
  day: ['today', 'tomorrow', 'on friday', 'on saturday', 'on sunday'],
  hour: ['at six', 'at seven', 'at eight', 'at nine'],
  human: ['please transfer me to a human agent', 'talk to a human'],
  abilities: ['what can you do', 'help'],
  name: ['what is your name', 'who are you'],
  time: ['what time is it'],
  repeat: ['please repeat that', 'say that again'],
  greeting: ['hello', 'good morning'],
  thanks: ['thank you', 'thanks'],
  yes: ['yes', 'yes please'],
  no: ['no', 'no thanks'],
  goodbye: ['goodbye', 'that is all'],
  digit: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
} as const;

/** An intent of the demo model. */
export type DemoIntent = keyof typeof DEMO_PHRASES;

/** All phrases, as the demo agent's `asr.keyterms`; at most 50. */
export const DEMO_KEYTERMS: readonly string[] = Object.values(DEMO_PHRASES).flat();
