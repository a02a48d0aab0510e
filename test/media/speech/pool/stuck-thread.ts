/**
 * A thread of the speech pool that returns every text as one piece marked with the thread's number, and hangs
 * for ever on the text "hang". The piece for "must share" says whether the account must.
 */
import { parentPort, threadId } from 'node:worker_threads';
import type { FromThread, ToThread } from '#media/speech/pool/speech-jobs.ts';

const mustShare = new Map<number, boolean>();
const send = (message: FromThread) => parentPort?.postMessage(message);

parentPort?.on('message', (message: ToThread) => {
  if (message.type === 'ping') send({ type: 'alive' });
  if (message.type === 'close') send({ type: 'closed' });
  if (message.type === 'speak' || message.type === 'taken') mustShare.set(message.id, message.mustShare);
  if (message.type !== 'segment') return;
  const { id, segment } = message;
  while (segment?.text === 'hang');
  if (segment)
    send({
      type: 'piece',
      id,
      piece: {
        bytes: Buffer.alloc(2),
        durationMs: 1,
        chunk: {
          seq: threadId,
          text: segment.text === 'must share' ? String(mustShare.get(id)) : segment.text,
          offsetSeconds: 0,
          seconds: 0,
          words: null,
        },
      },
    });
  else send({ type: 'spoken', id });
});
send({ type: 'alive' });
