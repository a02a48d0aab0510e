/** What callers add to an answer that looked whole, and how many of them do. */
import type { Kind } from './catalogue.ts';

/** By language. */
export const ADDED: Readonly<Record<string, string>> = {
  en: 'and could you send me a text about it',
  de: 'und können Sie mir das bitte schicken',
  fr: "et pouvez-vous m'envoyer un message",
  es: 'y me lo puede mandar por mensaje',
  it: 'e me lo può mandare per messaggio',
  nl: 'en kunt u mij dat sturen',
  pt: 'e pode mandar-me isso por mensagem',
};

/** Callers of 100 who go on after such an answer. */
export const ADDS_PER_100: Readonly<Record<Kind, number>> = {
  number: 2,
  email: 2,
  spelling: 3,
  date: 2,
  yes: 4,
  option: 4,
  address: 3,
  hesitation: 6,
  trailing: 6,
  open: 6,
};
