/**
 * `npm run docs:errors`: generates docs/errors.md from the table of faults and from `error-advice.json` (what
 * happened, what to do), so that the page is never out of date.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FaultCode, listFaults } from '#config/errors.ts';
import advice from './error-advice.json' with { type: 'json' };

/** What happened and what to do, by code. A missing code fails the type check. */
const ADVICE: Readonly<Record<FaultCode, readonly string[]>> = advice;

/** The page's text. */
export function errorsPage(): string {
  const faults = listFaults();
  const remedies = faults.map(
    ({ code, message }) => `| \`${code}\` | ${message} | ${ADVICE[code].join(' | ')} |`,
  );
  const details = faults.map(
    ({ code, status, reason, sip }) =>
      `| \`${code}\` | ${status} | ${reason === undefined ? '' : `\`${reason}\``} | ${sip ?? ''} |`,
  );
  return [
    '# Errors',
    '',
    '`npm run docs:errors` generates this page from [config/errors.ts](../config/errors.ts) and',
    '[scripts/error-advice.json](../scripts/error-advice.json). Find the message of your answer in the',
    'first table.',
    '',
    '- Every JSON error has `status`, `message` and `reason`; the reason is null where the table has none.',
    '- A validation failure (422 without a reason) is a list of `{type, loc, msg, ctx}`.',
    '- A missing `Authorization` is a 401 without a body: send `Authorization: Bearer KEY`.',
    '- A missing body or a wrong Content-Type is a 415 without a body. Its header `Accept` names the types',
    '  that the route takes. `curl -d` sends a form unless you add',
    "  `-H 'Content-Type: application/json'`.",
    '- curl shows an answer without a body with `-i`, and counts it as an error with `-f`.',
    '- SIP is the status that refuses an INVITE.',
    '',
    '## What to do',
    '',
    '| Code | Message | What happened | What to do |',
    '|---|---|---|---|',
    ...remedies,
    '',
    '## What the API answers',
    '',
    '| Code | Status | Reason | SIP |',
    '|---|---|---|---|',
    ...details,
    '',
  ].join('\n');
}

/** Path of the page. */
export const ERRORS_PAGE = join(import.meta.dirname, '../docs/errors.md');

if (import.meta.main) writeFileSync(ERRORS_PAGE, errorsPage());
