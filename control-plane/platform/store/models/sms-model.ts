/**
 * Text messages to and from phone numbers, and what is known of the people who write them. The contents are
 * sealed, and deleted once they are in a text session or sent.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A received message, or one part of an answer. */
export interface SmsMessageDocument {
  /** The carrier's id of a received message; `<turn>:sms:<part>` of one to be sent. */
  _id: string;
  direction: 'in' | 'out';
  number_id: string;
  team_id: string;
  /** The person's number. */
  person: string;
  /**
   * In: `received` → `handled`. Out: `due` → `sending` → `sent` → `delivered`, or `failed`. `sending`: the
   * carrier may have it.
   */
  state: 'received' | 'handled' | 'due' | 'sending' | 'sent' | 'delivered' | 'failed';
  /** Since when; of a message that is due, from when on it is sent. */
  state_at: Date;
  created_at: Date;
  /** Sealed; null once it is no longer needed. */
  text: string | null;
  /** The keyword of a received message that the carrier has answered itself. */
  answered_keyword: 'STOP' | 'START' | 'HELP' | null;
  /** The carrier's id of a sent message. */
  carrier_id: string | null;
  attempts: number;
  /** Its outcome, for people. */
  note: string;
  /** The text session it belongs to. */
  session_id: string | null;
}

/** The id of the thread of a person (their number) with a number. */
export function smsThreadId({ number_id, person }: Pick<SmsThreadDocument, 'number_id' | 'person'>): string {
  return `${number_id}:${person}`;
}

/** One person who writes to one number. */
export interface SmsThreadDocument {
  /** `smsThreadId` */
  _id: string;
  number_id: string;
  team_id: string;
  person: string;
  /** The newest text session. */
  session_id: string | null;
  /** When the person asked for no more messages; null unless they did. */
  stopped_at: Date | null;
  lease_by: string | null;
  lease_until: Date | null;
}

const text = { type: String, required: true };
const optionalText = { type: String, default: null };

/** Defines the model of messages on a connection. */
export const defineSmsMessages = modelOf<SmsMessageDocument>('SmsMessage', () => {
  const schema = new Schema<SmsMessageDocument>(
    {
      _id: text,
      direction: text,
      number_id: text,
      team_id: text,
      person: text,
      state: text,
      state_at: { type: Date, required: true },
      created_at: { type: Date, required: true },
      text: optionalText,
      answered_keyword: optionalText,
      carrier_id: optionalText,
      attempts: { type: Number, default: 0 },
      note: { type: String, default: '' },
      session_id: optionalText,
    },
    { collection: 'sms_messages', versionKey: false },
  );
  schema.index({ state: 1, created_at: 1 });
  schema.index({ carrier_id: 1 }, { sparse: true });
  schema.index({ team_id: 1, person: 1 });
  schema.index({ team_id: 1, created_at: 1 });
  schema.index({ number_id: 1, person: 1, state: 1 });
  return schema;
});

/** Defines the model of threads on a connection. */
export const defineSmsThreads = modelOf<SmsThreadDocument>('SmsThread', () => {
  const schema = new Schema<SmsThreadDocument>(
    {
      _id: text,
      number_id: text,
      team_id: text,
      person: text,
      session_id: optionalText,
      stopped_at: { type: Date, default: null },
      lease_by: optionalText,
      lease_until: { type: Date, default: null },
    },
    { collection: 'sms_threads', versionKey: false },
  );
  schema.index({ team_id: 1, person: 1 });
  return schema;
});
