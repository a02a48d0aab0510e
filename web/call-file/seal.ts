/** Says whether the file is as it was signed, by which key, and what is wrong otherwise. */
import { KEYS_PATH, type ReadCallFile } from '../../protocol/call-file.ts';
import { signedInCall, signingTimes, timesText } from '../../protocol/signing-times.ts';
import { dateTime } from '../console/src/parts/format.ts';
import { element } from '../widget/dom.ts';

/** Most problems that are listed: a damaged file may have thousands. */
const MOST_LISTED = 20;

/** Creates the card. */
export function seal(file: ReadCallFile, redacted: readonly string[]): HTMLElement {
  const { statement, keyId, problems } = file;
  const isGenuine = problems.length === 0;
  const node = element('section', { class: 'card seal', 'aria-label': 'Signature', role: 'status' });
  node.dataset['verified'] = String(isGenuine);
  if (!isGenuine) node.dataset['problem'] = '';
  node.append(
    element(
      'strong',
      {},
      isGenuine && statement
        ? `Unchanged since it was signed on ${dateTime(statement.signed_at)}`
        : 'Not verified: do not rely on this file',
    ),
  );
  if (!isGenuine)
    node.append(element('ul', {}, ...problems.slice(0, MOST_LISTED).map((text) => element('li', {}, text))));
  if (statement && keyId)
    node.append(
      element(
        'p',
        { class: 'small muted' },
        'Key ',
        element('code', {}, keyId),
        `, which says that it is of ${statement.issuer}. Whether it is, and whether this page itself was ` +
          `changed, only the keys of that deployment (${KEYS_PATH}) tell: `,
        element('code', {}, 'parley verify-call --keys'),
        '.',
      ),
    );
  if (isGenuine) node.append(...chain(file));
  if (redacted.length > 0)
    node.append(element('p', { class: 'small' }, `Redacted: ${redacted.join(', ')}. The rest is complete.`));
  return node;
}

/** Says when each stretch was signed: while the call ran, or at the export only. */
function chain(file: ReadCallFile): HTMLElement[] {
  const { chain, parts } = file;
  if (!chain)
    return [
      element(
        'p',
        { class: 'small' },
        'Nothing was signed while the call ran, everything at the export only.',
      ),
    ];
  const workers = new Set(chain.links.map(({ epoch }) => epoch)).size;
  const others = workers > 1 ? ` ${workers} workers had the call, one after the other.` : '';
  const list = element('ul', { class: 'small' });
  for (const times of signingTimes(file))
    list.append(element('li', {}, `${times.name}: ${timesText(times, dateTime)}`));
  const each = element('ul', { class: 'small' });
  for (const part of parts.filter(({ label }) => label.kind !== 'chain')) {
    const at = signedInCall(part, chain);
    each.append(element('li', {}, `${part.name}: ${at === null ? 'at the export' : dateTime(at)}`));
  }
  return [
    element('p', { class: 'small' }, `Signed ${timesOf(chain.links.length)} while the call ran.${others}`),
    list,
    element('details', { class: 'small' }, element('summary', {}, 'Each part'), each),
  ];
}

function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
