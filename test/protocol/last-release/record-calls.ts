/** Records what a worker and its signalling say to each other over two calls. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { header, parameter } from '#telephony/embedded/message.ts';
import type { IncomingInvite, SipDialog } from '#telephony/signalling.ts';
import { openRawCaller, type RawCaller } from '#test/telephony/embedded/raw-caller.ts';
import { FrameReader } from './frames.ts';

const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

/** One frame, without its length. */
export interface RecordedFrame {
  readonly from: 'worker' | 'signalling';
  readonly text: string;
}

/** The parts of a release that are recorded. */
interface Release {
  startTestSignalling(): Promise<{
    readonly appPort: number;
    readonly sipPort: number;
    close(): Promise<void>;
  }>;
  connectTestWorker(server: { readonly appPort: number }): Promise<{
    onInvite(handler: (invite: IncomingInvite) => void): void;
    close(): void;
  }>;
}

/** The caller hangs up on the first call, the agent on the second. */
export async function recordCalls({
  startTestSignalling,
  connectTestWorker,
}: Release): Promise<RecordedFrame[]> {
  const server = await startTestSignalling();
  const recorded: RecordedFrame[] = [];
  const relay = createServer((near) => {
    const far = connect(server.appPort, '127.0.0.1');
    pass(near, far, (text) => recorded.push({ from: 'worker', text }));
    pass(far, near, (text) => recorded.push({ from: 'signalling', text }));
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const worker = await connectTestWorker({ appPort: (relay.address() as AddressInfo).port });
  const phone = await openRawCaller(server.sipPort);
  const answered: Promise<SipDialog>[] = [];
  worker.onInvite((invite) => {
    invite.ring();
    answered.push(invite.answer(SDP));
  });

  const toTag = await establish(phone, 'first');
  phone.request({ method: 'BYE', cseq: 2, callId: 'first', toTag });
  await phone.next((message) => header(message, 'cseq') === '2 BYE');
  await establish(phone, 'second');
  void (await answered[1])?.hangUp();
  phone.answer(await phone.incoming('BYE'), 200);
  const last = (text: string) => text.includes('200 Test') && text.includes('second');
  while (!recorded.some(({ from, text }) => from === 'signalling' && last(text)))
    await new Promise((resolve) => setImmediate(resolve));

  phone.close();
  worker.close();
  relay.close();
  await server.close();
  return recorded.filter(
    ({ text }) => !/^[^|]*\|(route|ping)\|?/.test(text) && !/\|OK\|?(pong)?$/.test(text),
  );
}

/** A call until its ACK; returns the tag of this side. */
async function establish(phone: RawCaller, callId: string): Promise<string | null> {
  phone.request({ callId, body: SDP });
  const answer = await phone.next(
    (message) =>
      message.start.kind === 'response' &&
      message.start.status === 200 &&
      header(message, 'call-id') === callId,
  );
  const toTag = parameter(header(answer, 'to') ?? '', 'tag');
  phone.request({ method: 'ACK', callId, toTag });
  return toTag;
}

function pass(from: Socket, to: Socket, onFrame: (text: string) => void): void {
  const reader = new FrameReader(onFrame);
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
  from.on('data', (chunk) => {
    reader.read(chunk);
    to.write(chunk);
  });
}
