/** The page at `/`: talk to the demo agent by voice or in writing, with a live transcript; how to phone it and where to go next. */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Orb } from './orb.tsx';
import './styles.css';
import { type Conversation, type Line, useConversation } from './use-conversation.ts';
import { type Demo, useDemo } from './use-demo.ts';

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
  const conversation = useConversation();
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
          <Orb levels={conversation.levels} mode={conversation.mode} isLive={conversation.status === 'connected'} />
          <h1>{demo?.agent_name ?? 'Parley'}</h1>
          <p className="status" role="status">
            {conversation.status === 'connected' ? MODE_TEXT[conversation.mode] : STATUS_TEXT[conversation.status]}
            {conversation.status === 'ended' && conversation.endReason ? ` (${conversation.endReason.replaceAll('_', ' ')})` : ''}
          </p>
          <Controls demo={demo} conversation={conversation} />
          {(problem ?? conversation.problem) !== null && (
            <p className="problem" role="alert">
              {problem ?? conversation.problem}
            </p>
          )}
          {demo && !demo.hears_speech && (
            <p className="notice">
              No speech recogniser is installed here, so the agent cannot understand speech yet. Type to it, or use the keypad on the phone.
            </p>
          )}
        </section>
        <section className="transcript" aria-label="Transcript">
          <Transcript lines={conversation.lines} demo={demo} />
          <Composer conversation={conversation} />
        </section>
      </main>
      {demo && <Footer demo={demo} sessionId={conversation.sessionId} />}
    </div>
  );
}

function Controls({ demo, conversation }: { demo: Demo | null; conversation: Conversation }) {
  const isOver = conversation.status === 'idle' || conversation.status === 'ended';
  if (isOver) {
    return (
      <div className="controls">
        <button
          type="button"
          className="primary"
          disabled={!demo}
          onClick={() => demo && void conversation.start(demo.agent_id, { microphone: true })}
        >
          {conversation.status === 'ended' ? 'Talk again' : 'Start talking'}
        </button>
        <button type="button" disabled={!demo} onClick={() => demo && void conversation.start(demo.agent_id, { microphone: false })}>
          Type instead
        </button>
      </div>
    );
  }
  return (
    <div className="controls">
      <button type="button" className="hang-up" disabled={conversation.status === 'connecting'} onClick={conversation.end}>
        Hang up
      </button>
      <button type="button" aria-pressed={conversation.isMuted} onClick={() => conversation.setMuted(!conversation.isMuted)}>
        {conversation.isMuted ? 'Unmute' : 'Mute'}
      </button>
    </div>
  );
}

function Transcript({ lines, demo }: { lines: readonly Line[]; demo: Demo | null }) {
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
            <ul className="phrases">
              {demo.phrases.slice(0, 6).map((phrase) => (
                <li key={phrase}>“{phrase}”</li>
              ))}
            </ul>
          </>
        )}
      </div>
    );
  }
  return (
    <ol className="lines" aria-live="polite">
      {lines.map((line) => (
        <li key={line.id} className={line.role} data-final={line.isFinal}>
          <span className="who">{line.role === 'user' ? 'You' : 'Agent'}</span>
          <p>{line.text}</p>
        </li>
      ))}
      <li ref={end} aria-hidden="true" className="end" />
    </ol>
  );
}

function Composer({ conversation }: { conversation: Conversation }) {
  const [text, setText] = useState('');
  const isLive = conversation.status === 'connected';
  const send = (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (message === '' || !isLive) return;
    conversation.say(message);
    setText('');
  };
  return (
    <form className="composer" onSubmit={send}>
      <input
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
