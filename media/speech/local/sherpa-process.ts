/**
 * The process of a streaming model, for all calls of its parent: takes audio of numbered streams and returns
 * their events in order. `sherpa.ts` is the other side.
 */
import process from 'node:process';
import { OnlineRecognizer, type OnlineStream } from 'sherpa-onnx-node';
import type { RecogniserFiles } from '../models/installed-models.ts';
import type { SherpaReport, SherpaRequest } from './sherpa.ts';

/** Silence the model needs before it returns its last word. */
const TAIL_SECONDS = 0.5;

const { tokens, encoder, decoder, joiner } = JSON.parse(process.argv[2] ?? '{}') as RecogniserFiles;
const recognizer = new OnlineRecognizer({
  featConfig: { sampleRate: 16_000, featureDim: 80 },
  modelConfig: { transducer: { encoder, decoder, joiner }, tokens, numThreads: 1, provider: 'cpu', debug: 0 },
  enableEndpoint: 1,
});

interface OpenStream {
  readonly stream: OnlineStream;
  readonly sampleRate: number;
  interim: string;
}

const streams = new Map<number, OpenStream>();

process.on('disconnect', () => process.exit(0));
process.on('message', (request: SherpaRequest) => {
  if (request.type === 'open')
    streams.set(request.id, {
      stream: recognizer.createStream(),
      sampleRate: request.sampleRateHz,
      interim: '',
    });
  else if (request.type === 'close') streams.delete(request.id);
  else {
    const open = streams.get(request.id);
    if (!open) return;
    if (request.type === 'audio') hear(request.id, open, request.samples);
    else finalise(request.id, open);
  }
});

function hear(id: number, open: OpenStream, samples: Int16Array): void {
  decode(
    open,
    Float32Array.from(samples, (sample) => sample / 32_768),
  );
  if (recognizer.isEndpoint(open.stream)) {
    settle(id, open);
    return;
  }
  const text = textOf(open);
  if (text === open.interim) return;
  open.interim = text;
  report({ id, event: { type: 'interim', text } });
}

function finalise(id: number, open: OpenStream): void {
  decode(open, new Float32Array(open.sampleRate * TAIL_SECONDS));
  settle(id, open);
  report({ id, event: { type: 'finalised' } });
}

function settle(id: number, open: OpenStream): void {
  const text = textOf(open);
  recognizer.reset(open.stream);
  open.interim = '';
  if (text !== '') report({ id, event: { type: 'final', text, startMs: null, endMs: null, language: null } });
}

function decode(open: OpenStream, samples: Float32Array): void {
  open.stream.acceptWaveform({ samples, sampleRate: open.sampleRate });
  while (recognizer.isReady(open.stream)) recognizer.decode(open.stream);
}

/** These models print capitals. */
function textOf(open: OpenStream): string {
  return recognizer.getResult(open.stream).text.trim().toLowerCase();
}

function report(message: SherpaReport): void {
  process.send?.(message);
}
