/**
 * Who answered an outbound call, a person or a machine? Judged from the greeting's length, its pauses and its words, and from tones on the line (design §5).
 * People answer briefly and wait; machines talk on. Pure; times are monotonic ms.
 */
import type { Tone } from '#media/tone-detector.ts';

/** What has been heard since the call was answered. */
export interface Greeting {
  readonly answeredMs: number;
  /** Start of the first voice, null while there was none. */
  readonly startMs: number | null;
  /** End of the last voice, null while somebody is talking. */
  readonly endMs: number | null;
  readonly text: string;
  readonly tone: Tone | null;
}

/** What is known by now; an undecided one is judged again at `untilMs` at the latest. */
export type Verdict =
  | { readonly is: 'machine' | 'human'; readonly rule: 'fax' | 'beep' | 'words' | 'long_greeting' | 'short_greeting' | 'silence' }
  | { readonly is: 'undecided'; readonly untilMs: number };

/** Nobody says anything: it is the agent's turn to speak. */
const SILENCE_MS = 1_500;
/** A person does not talk this long before listening. */
const LONG_GREETING_MS = 6_000;
/** A greeting up to this long ("Hello?") is over after a short pause, a longer one may be one sentence of several. */
const SHORT_GREETING_MS = 1_200;
const PAUSE_AFTER_SHORT_MS = 600;
const PAUSE_AFTER_LONGER_MS = 1_000;
/** How long a machine that seemed a person may still give itself away by words or a tone. */
export const LATE_MACHINE_MS = 15_000;

/** What only mailboxes say, in the languages of most of them. */
const MACHINE_WORDS =
  /leave (me |us )?(a|your) (message|name)|after the (tone|beep|signal)|at the (tone|beep)|voice ?mail|mailbox|(can'?t|cannot|can not|unable to) (come to|take|answer) (the|your) (phone|call)|you('ve| have) reached|nachricht (nach|hinterlassen)|hinterlassen sie|nach dem (signal|piep|ton)|anrufbeantworter|laissez (un|votre|moi) message|après le (bip|signal)|messagerie|répondeur|deje? (un|su) mensaje|después (de la señal|del tono)|buzón de voz|contestador|deixe (a sua|uma|o seu) (mensagem|recado)|após o (sinal|bip)|caixa (postal|de correio)|lasciate? un messaggio|dopo il (segnale|bip)|segreteria telefonica|spreek .*(bericht|in na)|na de (piep|toon)|wiadomość po|po (usłyszeniu )?sygnale|poczta głosowa|zanechte (zprávu|vzkaz)|po zaznění|hlasov|lämna ett meddelande|efter (tonen|pipet|signalen)|læg en besked|legg igjen en beskjed|jätä viesti|äänimerkin|mesaj bırak|sinyal sesinden|оставьте сообщение|после (сигнала|гудка)|автоответчик|голосов(ая|ую) почт|залиште повідомлення|після сигналу|hagyjon üzenetet|a sípszó|lăsați un mesaj|după (ton|semnal)|αφήστε (το )?μήνυμα|留守番電話|発信音|メッセージを(お話し|残し)|请(在|留)|語音信箱|语音信箱|提示音|삐 소리|음성 ?사서함|메시지를 남겨|संदेश छोड़|اترك رسالة|بعد (سماع )?(الصافرة|النغمة)|השאירו הודעה|tinggalkan pesan|để lại (tin nhắn|lời nhắn)|ฝากข้อความ/iu;

/** Judges what was heard by `nowMs`. */
export function whoAnswered(greeting: Greeting, nowMs: number): Verdict {
  const { answeredMs, endMs, startMs } = greeting;
  const certain = certainMachine(greeting);
  if (certain) return certain;
  if (startMs === null) return decide('human', 'silence', answeredMs + SILENCE_MS, nowMs);
  if (endMs === null) return decide('machine', 'long_greeting', startMs + LONG_GREETING_MS, nowMs);
  const lengthMs = endMs - startMs;
  if (lengthMs >= LONG_GREETING_MS) return { is: 'machine', rule: 'long_greeting' };
  return decide('human', 'short_greeting', endMs + (lengthMs <= SHORT_GREETING_MS ? PAUSE_AFTER_SHORT_MS : PAUSE_AFTER_LONGER_MS), nowMs);
}

/** What no person says and no line sounds like; counts at any time of the first `LATE_MACHINE_MS`. */
export function certainMachine({ text, tone }: Greeting): Extract<Verdict, { is: 'machine' | 'human' }> | null {
  if (tone !== null) return { is: 'machine', rule: tone };
  return MACHINE_WORDS.test(text) ? { is: 'machine', rule: 'words' } : null;
}

function decide(is: 'machine' | 'human', rule: 'silence' | 'long_greeting' | 'short_greeting', atMs: number, nowMs: number): Verdict {
  return nowMs >= atMs ? { is, rule } : { is: 'undecided', untilMs: atMs };
}
