/** Settings that limit the use of one account, with their defaults (docs/limits.md). */
import { z } from 'zod';
import { parseMoney } from '#base/money.ts';

const WRONG = 'must be a whole number of at least 1, or none';
/** `none` means no limit: infinity. */
const count = z.preprocess(
  (value) => (value === 'none' ? Number.MAX_SAFE_INTEGER : value),
  z.coerce
    .number(WRONG)
    .int(WRONG)
    .min(1, WRONG)
    .transform((limit) => (limit === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : limit)),
);

/** Micro-dollars per day. */
const dollars = z.string().transform((value, context) => {
  const micros = value === 'none' ? Number.POSITIVE_INFINITY : parseMoney(value);
  if (micros !== null && micros >= 0) return micros;
  context.addIssue({
    code: 'custom',
    message: 'must be a decimal amount of dollars, such as 20.00, or none',
  });
  return z.NEVER;
});

export const limitSettings = {
  LIMIT_REQUESTS: count.default(2),
  LIMIT_REFUSALS_PER_SECOND: count.default(20),
  LIMIT_PREVIEWS: count.default(10),
  LIMIT_PREVIEWS_PER_MINUTE: count.default(60),
  LIMIT_UNJOINED_SESSIONS: count.default(240),
  LIMIT_SESSIONS_PER_MINUTE: count.default(1_200),
  LIMIT_UPLOADS: count.default(20),
  LIMIT_UPLOAD_BYTES: count.default(512 * 1_048_576),
  LIMIT_UPLOADS_PER_MINUTE: count.default(600),
  LIMIT_UPLOAD_BYTES_PER_SECOND: count.default(4 * 1_048_576),
  LIMIT_TOOL_TESTS: count.default(20),
  LIMIT_TOOL_TESTS_PER_MINUTE: count.default(300),
  LIMIT_TEST_RUNS: count.default(4),
  LIMIT_WAITING_TEST_RUNS: count.default(1_000),
  LIMIT_TEST_BATCHES_PER_MINUTE: count.default(30),
  LIMIT_TEST_SPENDING: dollars.prefault('20.00'),
  LIMIT_TEXT_TURNS: count.default(20),
  LIMIT_TEXT_MESSAGES_PER_MINUTE: count.default(600),
  LIMIT_TEXT_SESSIONS: count.default(1_000),
  LIMIT_SMS_PER_PERSON: count.default(100),
  LIMIT_STORED_BYTES: count.default(500_000_000),
  LIMIT_STORED_BYTES_UNPAID: count.default(50_000_000),
  LIMIT_AGENTS: count.default(1_000),
  LIMIT_VERSIONS: count.default(5_000),
  LIMIT_TOOLS: count.default(1_000),
  LIMIT_TOOL_SERVERS: count.default(100),
  LIMIT_SIP_REGISTRATIONS: count.default(20),
  LIMIT_SIP_PHONES: count.default(200),
  LIMIT_KNOWLEDGE: count.default(1_000),
  LIMIT_VOICES: count.default(1_000),
  LIMIT_TESTS: count.default(1_000),
  LIMIT_BATCHES: count.default(500),
  LIMIT_BATCHES_PER_MINUTE: count.default(60),
  LIMIT_CONTENTS_PER_MINUTE: count.default(120),
  LIMIT_KEYS: count.default(100),
};
