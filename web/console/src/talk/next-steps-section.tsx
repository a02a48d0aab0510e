/** What to do after the first answer: three steps, each with curl, JavaScript and the command line. */
import { useState } from 'react';
import { FORMS, type Form, nextSteps } from './next-steps.ts';
import type { Demo } from './use-demo.ts';

/** Shown once the agent has answered. */
export function NextSteps({ demo }: { demo: Demo }) {
  const [form, setForm] = useState<Form>('curl');
  const { origin } = window.location;
  const steps = nextSteps({ origin, agentId: demo.agent_id });
  return (
    <section className="next-steps" aria-label="Next steps">
      <h2>Next: make it yours</h2>
      <p>
        <code>npm start</code> prints where your key is. In Parley’s folder, set it as{' '}
        <code>PARLEY_API_KEY</code>. The <a href="/console">console</a> does the same in the browser.
      </p>
      <fieldset>
        <legend>Show as</legend>
        {FORMS.map((each) => (
          <button key={each} type="button" aria-pressed={each === form} onClick={() => setForm(each)}>
            {each}
          </button>
        ))}
      </fieldset>
      {steps.map(({ title, forms }, index) => (
        <details key={title} open={index === 0} name="next-step">
          <summary>{title}</summary>
          <Snippet text={forms[form]} title={title} />
        </details>
      ))}
    </section>
  );
}

function Snippet({ text, title }: { text: string; title: string }) {
  const [copied, setCopied] = useState<string | null>(null);
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      // Not permitted: the text can be selected.
      () => undefined,
    );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="snippet" tabIndex={0} aria-label={title}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <button type="button" onClick={copy}>
        {copied === text ? 'Copied' : 'Copy'}
      </button>
    </>
  );
}
