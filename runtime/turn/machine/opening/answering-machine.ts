/**
 * Who answered an outbound call, a person or a machine? Judged from the pauses of the greeting, its words,
 * and tones on the line. Only a mailbox's words or a tone prove a machine: a long greeting alone never
 * counts, because a false positive hangs up on a person. Pure; times are monotonic ms.
 */
import type { Tone } from '#media/dsp/tone-detector.ts';

/** Everything heard since the call was answered. */
export interface Greeting {
  readonly answeredMs: number;
  /** Start of the first voice; null without one. */
  readonly startMs: number | null;
  /** End of the last voice; null during voice. */
  readonly endMs: number | null;
  readonly text: string;
  readonly tone: Tone | null;
}

/** The verdict so far; an undecided one is judged again at `untilMs` at the latest. */
export type Verdict =
  | Machine
  | { readonly is: 'human'; readonly rule: HumanRule }
  | { readonly is: 'undecided'; readonly untilMs: number };

/** A machine, with the evidence. */
export interface Machine {
  readonly is: 'machine';
  readonly rule: 'fax' | 'beep' | 'words';
}

type HumanRule = 'long_greeting' | 'short_greeting' | 'silence';

/** After this much silence the agent speaks first. */
const SILENCE_MS = 1_500;
/**
 * A greeting up to this long ("Hello?") ends after a short pause; a longer one may have several sentences.
 */
const SHORT_GREETING_MS = 1_200;
const PAUSE_AFTER_SHORT_MS = 600;
const PAUSE_AFTER_LONGER_MS = 1_000;
/** A voice this long may be a mailbox: wait for its beep. */
const LONG_GREETING_MS = 6_000;
const PAUSE_AFTER_LONG_MS = 2_000;
/** No mailbox greets longer; a voice beyond this is treated as a person. */
export const LONGEST_GREETING_MS = 30_000;
/** Time in which a supposed person may still prove to be a machine, by words or a tone. */
export const LATE_MACHINE_MS = 15_000;

/** Phrases that only mailboxes say. */
const MAILBOX_WORDS: readonly RegExp[] = [
  /(after|at|following|wait for) the (tone|beep)|record (a|your) message|forwarded to (an? )?(automat\w* )?voice/iu,
  /nach dem (signal|piep|ton)|après le (bip|signal)|después (de la señal|del tono|del pitido)|após o (sinal|bip)|dopo il (segnale|bip)|na de (piep|toon)|po (usłyszeniu )?sygnale/iu,
  /po zaznění|efter (tonen|pipet|signalen)|äänimerkin|sinyal sesinden|после (звукового )?(сигнала|гудка)|після (звукового )?сигналу|a sípszó|după (ton|semnal|bip)|μετά τ(ον|ο) (σήμα|ήχο|μπιπ)|発信音/iu,
  /提示音|삐 소리|बीप के बाद|بعد (سماع )?(الصافرة|النغمة)|לאחר (הצליל|הצפצוף)|setelah (nada|bunyi)|sau tiếng (bíp|tín hiệu)|หลัง(จาก)?(ได้ยิน)?เสียง/iu,
];

/** Phrases that mailboxes say often and people sometimes, by topic: two topics together are a mailbox. */
const MAILBOX_HINTS: readonly (readonly RegExp[])[] = [
  [
    /(?<!\b(to|can|could|you) )leave (me |us )?(a|your) (message|name)|hinterlassen sie|laissez (un|votre|moi) message|deje? (un|su) mensaje|deixe (a sua|uma|o seu) (mensagem|recado)|lasciate? un messaggio|spreek (\S{1,20} ){0,5}(bericht|in na)|zostaw wiadomość|zanechte (zprávu|vzkaz)|lämna ett meddelande/iu,
    /læg en besked|legg igjen en beskjed|jätä viesti|mesaj bırak|оставьте сообщение|залиште повідомлення|hagyjon üzenetet|lăsați un mesaj|αφήστε (το )?μήνυμα|メッセージを(お話し|残し)/iu,
    /请留言|메시지를 남겨|संदेश छोड़|اترك رسالة|השאירו הודעה|tinggalkan pesan|để lại (tin nhắn|lời nhắn)|ฝากข้อความ/iu,
  ],
  [
    /voice ?mail|mail ?box|answering machine|anrufbeantworter|messagerie|répondeur|buzón de voz|contestador|caixa (postal|de correio)|segreteria telefonica|poczta głosowa|hlasov(á|ou) schránk|автоответчик|голосов(ая|ую) почт|留守番電話|語音信箱|语音信箱|음성 ?사서함/iu,
  ],
  [
    /you('ve| have) reached|(can'?t|cannot|can not|unable to) (come to|take|answer) (the|your) (phone|call)|(is|am|are) (not available|unavailable)|nicht (erreichbar|verfügbar)|pas (disponible|joignable)|no (está disponible|puedo atender)|não (está disponível|posso atender)|non (è raggiungibile|posso rispondere)|niet bereikbaar|недоступ|不在|连接不上|无法接通/iu,
  ],
];

/** Judges everything heard by `nowMs`. */
export function whoAnswered(greeting: Greeting, nowMs: number): Verdict {
  const { answeredMs, endMs, startMs, text } = greeting;
  const certain = certainMachine(greeting);
  if (certain) return certain;
  if (isMailbox(text)) return { is: 'machine', rule: 'words' };
  if (startMs === null) return human('silence', answeredMs + SILENCE_MS, nowMs);
  if (endMs === null) return human('long_greeting', startMs + LONGEST_GREETING_MS, nowMs);
  const lengthMs = endMs - startMs;
  if (lengthMs >= LONG_GREETING_MS) return human('long_greeting', endMs + PAUSE_AFTER_LONG_MS, nowMs);
  return human(
    'short_greeting',
    endMs + (lengthMs <= SHORT_GREETING_MS ? PAUSE_AFTER_SHORT_MS : PAUSE_AFTER_LONGER_MS),
    nowMs,
  );
}

/** The words are a mailbox's greeting, or a large part of one. */
export function isMailbox(text: string): boolean {
  return isAnyIn(MAILBOX_WORDS, text) || MAILBOX_HINTS.filter((hints) => isAnyIn(hints, text)).length >= 2;
}

/**
 * Proof of a machine. Words count throughout the first `LATE_MACHINE_MS`, a tone until a turn was answered.
 */
export function certainMachine({ text, tone }: Greeting): Machine | null {
  if (tone !== null) return { is: 'machine', rule: tone };
  return isAnyIn(MAILBOX_WORDS, text) ? { is: 'machine', rule: 'words' } : null;
}

function isAnyIn(patterns: readonly RegExp[], text: string): boolean {
  return patterns.some((pattern) => pattern.test(text));
}

function human(rule: HumanRule, atMs: number, nowMs: number): Verdict {
  return nowMs >= atMs ? { is: 'human', rule } : { is: 'undecided', untilMs: atMs };
}
