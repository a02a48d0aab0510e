/**
 * The page at `/`: talk to the demo agent by voice or text, with a live transcript, the number to call and
 * links to the next steps.
 */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { megabytes } from '../parts/format.ts';
import { NextSteps } from './next-steps-section.tsx';
import { Orb } from './orb.tsx';
import './styles.css';
import { type Demo, useDemo } from './use-demo.ts';
import { type Talk, useTalk } from './use-talk.ts';

const STATUS_TEXT = {
  idle: 'Ready when you are',
  connecting: 'Connecting…',
  connected: 'Connected',
  reconnecting: 'Connection lost, trying again…',
  ended: 'The conversation has ended',
} as const;

const MODE_TEXT = { listening: 'Listening', thinking: 'Thinking', speaking: 'Speaking' } as const;

export default function TalkPage() {
  const { demo, problem } = useDemo();
  const talk = useTalk();
  const { status, mode, session } = talk.conversation;
  return (
    <div className="page">
      <header>
        <img src="/icon.svg" alt="" width="28" height="28" />
        <strong>Parley</strong>
        <nav>
          <a href="/console">Console</a>
          <a href="/docs">API reference</a>
        </nav>
      </header>
      <main>
        <section className="talk" aria-label="Talk to the agent">
          <Orb levels={talk.levels} mode={mode} isLive={status === 'connected'} />
          <h1>{demo?.agent_name ?? 'Parley'}</h1>
          <p className="status" role="status">
            {status === 'connected' ? MODE_TEXT[mode] : STATUS_TEXT[status]}
            {status === 'ended' && session?.endReason ? ` (${session.endReason.replaceAll('_', ' ')})` : ''}
          </p>
          <Controls demo={demo} talk={talk} />
          {(problem ?? talk.problem) !== null && (
            <p className="problem" role="alert">
              {problem ?? talk.problem}
            </p>
          )}
          {demo && !demo.hears_speech && (
            <p className="notice">
              The agent cannot hear yet: type to it, or{' '}
              <a href="/console/speech-models">
                let it hear
                {demo.recogniser_bytes === null ? '' : ` (${megabytes(demo.recogniser_bytes)})`}
              </a>
              .
            </p>
          )}
        </section>
        <section className="transcript" aria-label="Transcript">
          <Transcript talk={talk} demo={demo} />
          <Composer talk={talk} />
        </section>
      </main>
      {demo && hasAnswered(talk.lines) && <NextSteps demo={demo} />}
      {demo && <Footer demo={demo} sessionId={session?.sessionId ?? null} />}
    </div>
  );
}

/** Whether the agent has answered something that was said to it. */
function hasAnswered(lines: Talk['lines']): boolean {
  const said = lines.findIndex(({ role }) => role === 'user');
  return said !== -1 && lines.slice(said).some(({ role, final }) => role !== 'user' && final);
}

function Controls({ demo, talk }: { demo: Demo | null; talk: Talk }) {
  const { micMuted, session, setMicMuted, status } = talk.conversation;
  if (status === 'idle' || status === 'ended') {
    return (
      <div className="controls">
        <button
          type="button"
          className="primary"
          disabled={!demo}
          onClick={() => demo && void talk.start(demo.agent_id, true)}
        >
          {status === 'ended' ? 'Talk again' : 'Start talking'}
        </button>
        <button type="button" disabled={!demo} onClick={() => demo && void talk.start(demo.agent_id, false)}>
          Type instead
        </button>
      </div>
    );
  }
  return (
    <div className="controls">
      <button
        type="button"
        className="hang-up"
        disabled={status === 'connecting'}
        onClick={() => session?.end()}
      >
        Hang up
      </button>
      {talk.hasMicrophone && (
        <button
          type="button"
          aria-pressed={micMuted}
          disabled={status === 'connecting'}
          onClick={() => setMicMuted(!micMuted)}
        >
          {micMuted ? 'Unmute' : 'Mute'}
        </button>
      )}
    </div>
  );
}

function Transcript({ talk, demo }: { talk: Talk; demo: Demo | null }) {
  const { lines } = talk;
  const end = useRef<HTMLLIElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest line is scrolled to whenever the lines change.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }, [lines]);
  if (lines.length === 0) {
    return (
      <div className="empty">
        <p>What is said appears here, word for word as it was heard.</p>
        {demo && demo.phrases.length > 0 && (
          <>
            <p>Try saying</p>
            <Phrases talk={talk} demo={demo} />
          </>
        )}
      </div>
    );
  }
  return (
    <ol className="lines" aria-live="polite">
      {lines.map((line) => (
        <li key={line.key} className={line.role} data-final={line.final}>
          <span className="who">{line.role === 'user' ? 'You' : 'Agent'}</span>
          <p>{line.text}</p>
        </li>
      ))}
      <li ref={end} aria-hidden="true" className="end" />
    </ol>
  );
}

/** Sentences to say; a click types one, in a conversation of its own if there is none. */
function Phrases({ talk, demo }: { talk: Talk; demo: Demo }) {
  const { sendUserMessage, status } = talk.conversation;
  const say = (phrase: string) =>
    status === 'connected'
      ? sendUserMessage(phrase, { audio: true })
      : void talk.start(demo.agent_id, false, phrase);
  return (
    <ul className="phrases">
      {demo.phrases.slice(0, 6).map((phrase) => (
        <li key={phrase}>
          <button
            type="button"
            disabled={status === 'connecting' || status === 'reconnecting'}
            onClick={() => say(phrase)}
          >
            “{phrase}”
          </button>
        </li>
      ))}
    </ul>
  );
}

function Composer({ talk: { conversation, hasMicrophone } }: { talk: Talk }) {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const isLive = conversation.status === 'connected' || conversation.status === 'reconnecting';
  // The button that started a typed conversation is gone by now, and the keyboard's focus with it.
  useEffect(() => {
    if (isLive && !hasMicrophone) field.current?.focus();
  }, [isLive, hasMicrophone]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (message === '' || !isLive) return;
    conversation.sendUserMessage(message, { audio: true });
    setText('');
  };
  return (
    <form className="composer" onSubmit={send}>
      <input
        ref={field}
        aria-label="Message"
        placeholder={isLive ? 'Type a message' : 'Start a conversation to type'}
        value={text}
        disabled={!isLive}
        maxLength={2000}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" disabled={!isLive || text.trim() === ''}>
        Send
      </button>
    </form>
  );
}

function Footer({ demo, sessionId }: { demo: Demo; sessionId: string | null }) {
  return (
    <footer>
      {demo.sip_uri !== null && (
        <p>
          Phone it from any softphone: <code>{demo.sip_uri}</code>
        </p>
      )}
      <p className="engines">{demo.engines.join(' · ')}</p>
      {sessionId !== null && (
        <p>
          Session <code>{sessionId}</code>
        </p>
      )}
    </footer>
  );
}
