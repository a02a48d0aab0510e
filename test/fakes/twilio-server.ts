/**
 * A stand-in for Twilio: the parts of its REST API for numbers, messages and SIP trunks, over HTTP. It
 * uses basic authentication, form bodies, JSON answers and errors, and two records per page, and can simulate
 * failures.
 */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The account it accepts. */
export const TWILIO_ACCOUNT = {
  accountSid: `AC${'0123456789abcdef'.repeat(2)}`,
  authToken: 'a-secret-token-of-tests',
};

const PAGE_RECORDS = 2;

/** A record as Twilio returns it. */
type Row = Readonly<Record<string, string | null>>;

/** Fault of one request; with `done` variants the request takes effect but the answer fails. */
export type TwilioTrouble =
  | { readonly status: number; readonly code?: number; readonly message?: string }
  | 'not-json'
  | 'hang-up'
  | 'done-then-hang-up'
  | 'done-then-500'
  | 'done-then-silent'
  | 'silent';

/** A running server. */
export interface TwilioServer {
  readonly url: string;
  /** Numbers on offer. */
  readonly available: Row[];
  /** Numbers of the account. */
  readonly owned: Row[];
  readonly trunks: Row[];
  readonly originations: Row[];
  /** Messages sent so far, oldest first. */
  readonly messages: Row[];
  /** Requests seen so far, as `METHOD resource`: `POST IncomingPhoneNumbers`. */
  readonly requests: string[];
  /** Faults by request, each used once, in order: `troubles['POST IncomingPhoneNumbers'] = ['hang-up']`. */
  readonly troubles: Record<string, TwilioTrouble[]>;
  close(): Promise<void>;
}

/** A number on offer. */
export function offeredNumber(phoneNumber: string, more: Row = {}): Row {
  return {
    phone_number: phoneNumber,
    friendly_name: phoneNumber,
    iso_country: 'US',
    region: 'CA',
    locality: 'San Rafael',
    ...more,
  };
}

/**
 * Signature of a request from Twilio: over the URL and all fields sorted by name (Twilio documentation,
 * "Validating requests").
 */
export function signTwilioRequest(url: string, form: Readonly<Record<string, string>>): string {
  const fields = Object.entries(form).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHmac('sha1', TWILIO_ACCOUNT.authToken)
    .update(url + fields.map(([name, value]) => name + value).join(''))
    .digest('base64');
}

/** Starts the server without numbers on offer. */
export async function startTwilioServer(): Promise<TwilioServer> {
  const state = {
    available: [] as Row[],
    owned: [] as Row[],
    trunks: [] as Row[],
    originations: [] as Row[],
    messages: [] as Row[],
  };
  const requests: string[] = [];
  const troubles: Record<string, TwilioTrouble[]> = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://twilio');
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString('utf8')));
      const { resource, id, parent } = locate(url.pathname);
      const seen = `${request.method} ${resource}`;
      requests.push(seen);
      const exchange = { request, response, url, form, id, parent };
      meet(troubles[seen]?.shift(), exchange, () => {
        if (!isAuthentic(request)) refuse(response, 401, { code: 20003, message: 'Authenticate' });
        else serve(state, seen, exchange);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    troubles,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly form: Readonly<Record<string, string>>;
  readonly id: string;
  readonly parent: string;
}

interface State {
  readonly available: Row[];
  readonly owned: Row[];
  readonly trunks: Row[];
  readonly originations: Row[];
  readonly messages: Row[];
}

/** `/2010-04-01/Accounts/AC…/IncomingPhoneNumbers/PN….json`, `/v1/Trunks/TK…/OriginationUrls`. */
function locate(path: string): { resource: string; id: string; parent: string } {
  const parts = path
    .replace(/\.json$/, '')
    .split('/')
    .slice(1);
  if (parts[0] === '2010-04-01' && parts[1] === 'Accounts' && parts[2] === TWILIO_ACCOUNT.accountSid)
    return { resource: parts[3] ?? '', id: parts[4] ?? '', parent: parts[5] ?? '' };
  if (parts[0] === 'v1' && parts[1] === 'Trunks')
    return { resource: parts[3] ?? 'Trunks', id: '', parent: parts[2] ?? '' };
  return { resource: path, id: '', parent: '' };
}

function meet(trouble: TwilioTrouble | undefined, { response }: Exchange, answer: () => void): void {
  if (trouble === undefined) answer();
  else if (typeof trouble === 'object') refuse(response, trouble.status, trouble);
  else if (trouble === 'not-json')
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
  else if (trouble === 'hang-up') response.destroy();
  else if (trouble !== 'silent') {
    // The request takes effect, but its answer is lost.
    const { write, writeHead, end } = response;
    Object.assign(response, { write: () => true, writeHead: () => response, end: () => response });
    answer();
    Object.assign(response, { write, writeHead, end });
    if (trouble === 'done-then-hang-up') response.destroy();
    if (trouble === 'done-then-500') refuse(response, 500, { code: 20500, message: 'Internal Server Error' });
  }
}

function serve(state: State, seen: string, exchange: Exchange): void {
  const { response, url, form, id, parent } = exchange;
  const ofTrunk = () => state.originations.filter((row) => row['trunk_sid'] === parent);
  const resources: Record<string, () => void> = {
    'GET AvailablePhoneNumbers': () => offer(state, exchange),
    'GET IncomingPhoneNumbers': () => listOwned(state, exchange),
    'POST IncomingPhoneNumbers': () => (id === '' ? sell(state, response, form) : redirect(state, exchange)),
    'POST Messages': () => sendMessage(state, response, form),
    'GET Messages': () => listMessages(state, exchange),
    'DELETE IncomingPhoneNumbers': () => giveBack(state, exchange),
    'GET Trunks': () => sendList(response, 'trunks', paged(state.trunks, url)),
    'POST Trunks': () =>
      parent === ''
        ? create(response, state.trunks, trunkOf(form))
        : change(state.trunks, parent, form, response),
    'GET OriginationUrls': () => sendList(response, 'origination_urls', paged(ofTrunk(), url)),
    'POST OriginationUrls': () =>
      create(response, state.originations, {
        sid: newSid('OU'),
        trunk_sid: parent,
        sip_url: form['SipUrl'] ?? null,
      }),
  };
  const resource = resources[seen];
  if (resource) resource();
  else refuse(response, 404, notFound(url));
}

function offer(state: State, { response, url, id, parent }: Exchange): void {
  if (parent !== 'Local' || (id !== 'US' && id !== 'CA')) {
    refuse(response, 404, notFound(url));
    return;
  }
  const areaCode = url.searchParams.get('AreaCode') ?? '';
  const found = state.available.filter(
    (row) => row['iso_country'] === id && row['phone_number']?.slice(2).startsWith(areaCode),
  );
  // This resource alone is not paged.
  send(response, 200, {
    available_phone_numbers: found.slice(0, Number(url.searchParams.get('PageSize') ?? 50)),
    uri: url.pathname,
  });
}

function listOwned(state: State, { response, url, id }: Exchange): void {
  const one = state.owned.find((row) => row['sid'] === id);
  if (one) {
    send(response, 200, one);
    return;
  }
  const wanted = url.searchParams.get('PhoneNumber') ?? '';
  const found = state.owned.filter((row) => row['phone_number']?.includes(wanted));
  const { page, next } = paged(found, url);
  send(response, 200, { incoming_phone_numbers: page, next_page_uri: next });
}

function sell(state: State, response: ServerResponse, form: Readonly<Record<string, string>>): void {
  const phoneNumber = form['PhoneNumber'] ?? '';
  const index = state.available.findIndex((row) => row['phone_number'] === phoneNumber);
  const trunkSid = form['TrunkSid'] ?? null;
  if (index < 0) refuse(response, 400, { code: 21422, message: `${phoneNumber} is not available` });
  else if (trunkSid !== null && !state.trunks.some((trunk) => trunk['sid'] === trunkSid))
    refuse(response, 400, { code: 20404, message: `Trunk ${trunkSid} was not found` });
  else {
    state.available.splice(index, 1);
    const friendlyName = form['FriendlyName'] ?? phoneNumber;
    create(response, state.owned, {
      sid: newSid('PN'),
      phone_number: phoneNumber,
      friendly_name: friendlyName,
      trunk_sid: trunkSid,
    });
  }
}

/** Sets where messages and calls to a number go: what a request does not name stays. */
function redirect(state: State, { response, url, id, form }: Exchange): void {
  const index = state.owned.findIndex((row) => row['sid'] === id);
  const changed = {
    ...state.owned[index],
    ...fieldsOf(form, {
      SmsUrl: 'sms_url',
      SmsApplicationSid: 'sms_application_sid',
      VoiceUrl: 'voice_url',
      VoiceMethod: 'voice_method',
      VoiceApplicationSid: 'voice_application_sid',
      TrunkSid: 'trunk_sid',
    }),
  };
  if (index < 0) refuse(response, 404, notFound(url));
  else {
    state.owned.splice(index, 1, changed);
    send(response, 200, changed);
  }
}

function fieldsOf(form: Exchange['form'], names: Readonly<Record<string, string>>): Row {
  return Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) => (field in form ? [[name, form[field] ?? '']] : [])),
  );
}

function sendMessage(state: State, response: ServerResponse, form: Exchange['form']): void {
  const body = form['Body'] ?? '';
  if (body.length > 1_600)
    refuse(response, 400, { code: 21617, message: 'The concatenated message body exceeds the limit' });
  else
    create(response, state.messages, {
      sid: newSid('SM'),
      from: form['From'] ?? null,
      to: form['To'] ?? null,
      body,
      status: 'queued',
      status_callback: form['StatusCallback'] ?? null,
    });
}

function listMessages(state: State, { response, url }: Exchange): void {
  const [to, from] = [url.searchParams.get('To'), url.searchParams.get('From')];
  const found = state.messages.filter((row) => row['to'] === to && row['from'] === from);
  send(response, 200, { messages: found, next_page_uri: null });
}

function giveBack(state: State, { response, url, id }: Exchange): void {
  const index = state.owned.findIndex((row) => row['sid'] === id);
  if (index < 0) refuse(response, 404, notFound(url));
  else {
    state.owned.splice(index, 1);
    response.writeHead(204).end();
  }
}

function trunkOf(form: Exchange['form']): Row {
  return {
    sid: newSid('TK'),
    friendly_name: form['FriendlyName'] ?? null,
    disaster_recovery_url: form['DisasterRecoveryUrl'] ?? null,
    disaster_recovery_method: form['DisasterRecoveryMethod'] ?? null,
  };
}

function change(trunks: Row[], sid: string, form: Exchange['form'], response: ServerResponse): void {
  const index = trunks.findIndex((trunk) => trunk['sid'] === sid);
  const changed = { ...trunks[index], disaster_recovery_url: form['DisasterRecoveryUrl'] ?? null };
  trunks.splice(index, 1, changed);
  send(response, 200, changed);
}

function create(response: ServerResponse, rows: Row[], row: Row): void {
  rows.push(row);
  send(response, 201, row);
}

let created = 0;
function newSid(prefix: string): string {
  return `${prefix}${(++created).toString(16).padStart(32, '0')}`;
}

function paged(rows: readonly Row[], url: URL): { page: Row[]; next: string | null } {
  const page = Number(url.searchParams.get('Page') ?? 0);
  const hasMore = rows.length > (page + 1) * PAGE_RECORDS;
  const next = new URL(url);
  next.searchParams.set('Page', String(page + 1));
  return {
    page: rows.slice(page * PAGE_RECORDS, (page + 1) * PAGE_RECORDS),
    next: hasMore ? `${next.pathname}${next.search}` : null,
  };
}

/** The newer APIs return the next page as an absolute URL on Twilio's own host. */
function sendList(
  response: ServerResponse,
  key: string,
  { page, next }: { page: Row[]; next: string | null },
): void {
  send(response, 200, {
    [key]: page,
    meta: { key, next_page_url: next === null ? null : `https://trunking.twilio.com${next}` },
  });
}

function isAuthentic(request: IncomingMessage): boolean {
  const { accountSid, authToken } = TWILIO_ACCOUNT;
  return (
    request.headers.authorization === `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
  );
}

function notFound(url: URL): { code: number; message: string } {
  return { code: 20404, message: `The requested resource ${url.pathname} was not found` };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(
  response: ServerResponse,
  status: number,
  { code = 20001, message = 'Failure' }: { code?: number; message?: string },
): void {
  send(response, status, { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status });
}
