/** The view of the widget: built once, then updated to match a state. Independent of calls. */
import { button, element, ICONS, icon } from './dom.ts';
import { type Actions, isRunning, type Surroundings, statusText, type WidgetState } from './state.ts';
import { STYLES } from './styles.ts';
import { TranscriptLog } from './transcript-log.ts';

/** Renders into a shadow root. */
export class View {
  readonly #root: ShadowRoot;
  readonly #actions: Actions;
  readonly #frame = element('div', { class: 'root' });
  readonly #launcherText = new Text();
  readonly #launcher: HTMLButtonElement;
  readonly #bubble: HTMLElement;
  readonly #message: HTMLButtonElement;
  readonly #dismiss: HTMLButtonElement;
  readonly #panel = element('section', {
    class: 'panel',
    part: 'panel',
    role: 'dialog',
    'aria-labelledby': 'title',
  });
  readonly #orb = element('div', { class: 'orb', part: 'orb', 'aria-hidden': 'true' });
  readonly #title = element('h2', { id: 'title' });
  readonly #status = element('p', { class: 'status', part: 'status', role: 'status' });
  readonly #minimise: HTMLButtonElement;
  readonly #greeting = element('p', { class: 'greeting' });
  readonly #problem = element('p', { class: 'problem', part: 'problem', role: 'alert' });
  readonly #consent = element('div', { class: 'consent' });
  readonly #log = new TranscriptLog();
  readonly #start: HTMLButtonElement;
  readonly #startText = new Text();
  readonly #accept: HTMLButtonElement;
  readonly #typed: HTMLButtonElement;
  readonly #mute: HTMLButtonElement;
  readonly #muteText = new Text();
  readonly #end: HTMLButtonElement;
  readonly #endText = new Text();
  readonly #form = element('form');
  readonly #input = element('input', { type: 'text', maxlength: '2000', autocomplete: 'off', part: 'input' });
  readonly #send: HTMLButtonElement;
  #frameRequest = 0;

  constructor(root: ShadowRoot, actions: Actions) {
    this.#root = root;
    this.#actions = actions;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    const smallOrb = element('div', { class: 'orb', 'aria-hidden': 'true' });
    this.#launcher = button('launcher', actions.open, smallOrb, this.#launcherText);
    this.#message = button('message', actions.open);
    this.#dismiss = button('dismiss', actions.dismiss, icon(ICONS.close));
    this.#bubble = element('div', { class: 'bubble', part: 'bubble' }, this.#message, this.#dismiss);
    this.#minimise = button('minimise', actions.minimise, icon(ICONS.close));
    this.#start = button('start', () => actions.start(true), icon(ICONS.microphone), this.#startText);
    this.#typed = button('type', () => actions.start(false));
    this.#accept = button('accept', actions.accept);
    this.#mute = button('mute', actions.mute, icon(ICONS.microphone), this.#muteText);
    this.#end = button('end', actions.end, icon(ICONS.hangUp), this.#endText);
    this.#send = element('button', { type: 'submit', class: 'send', part: 'send' }, icon(ICONS.send));
    this.#assemble();
  }

  /** Updates the view to this state. */
  show(state: WidgetState, around: Surroundings): void {
    const focused = this.#root.activeElement;
    this.#frame.dir = around.direction;
    this.#frame.lang = around.language;
    this.#showLauncher(state, around);
    this.#showPanel(state, around);
    this.#showControls(state, around);
    this.#animate(state.isOpen && state.stage === 'connected');
    // If the focused element is no longer visible, move the focus to the next useful one.
    if (focused instanceof HTMLElement && !focused.checkVisibility()) this.focus();
  }

  /** Moves the keyboard focus to the visitor's next step. */
  focus(): void {
    const places = [this.#start, this.#accept, this.#input, this.#end, this.#launcher];
    places.find((place) => place.checkVisibility() && !place.disabled)?.focus();
  }

  #assemble(): void {
    const header = element(
      'header',
      {},
      this.#orb,
      element('div', { class: 'who' }, this.#title, this.#status),
      this.#minimise,
    );
    const body = element(
      'div',
      { class: 'body' },
      this.#greeting,
      this.#consent,
      this.#log.node,
      this.#problem,
    );
    const controls = element(
      'div',
      { class: 'controls' },
      this.#start,
      this.#accept,
      this.#typed,
      this.#mute,
      this.#end,
    );
    this.#form.append(this.#input, this.#send);
    this.#form.addEventListener('submit', (event) => this.#submit(event));
    this.#input.addEventListener('input', () => this.#actions.type());
    this.#panel.append(header, body, controls, this.#form);
    this.#panel.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.#actions.minimise();
    });
    this.#frame.append(this.#panel, this.#bubble, this.#launcher);
    this.#root.append(this.#frame);
  }

  #submit(event: Event): void {
    event.preventDefault();
    const text = this.#input.value.trim();
    if (text === '') return;
    this.#actions.say(text);
    this.#input.value = '';
  }

  #showLauncher(state: WidgetState, { settings, texts, agentName }: Surroundings): void {
    this.#launcherText.data = texts.open.replace('{name}', () => agentName ?? texts.agent);
    this.#launcher.hidden = state.isOpen;
    this.#message.textContent = settings.proactiveMessage;
    this.#dismiss.setAttribute('aria-label', texts.dismiss);
    this.#bubble.hidden = state.isOpen || !state.isInviting;
  }

  #showPanel(state: WidgetState, { settings, texts, agentName }: Surroundings): void {
    this.#panel.hidden = !state.isOpen;
    put(this.#title, agentName ?? texts.agent);
    put(this.#status, statusText(state, texts));
    this.#minimise.setAttribute('aria-label', texts.minimise);
    put(this.#greeting, settings.greeting ?? '');
    this.#greeting.hidden = settings.greeting === null || state.stage === 'consent' || state.lines.length > 0;
    put(this.#problem, state.problem === null ? '' : texts[state.problem]);
    this.#problem.hidden = state.problem === null;
    this.#log.show(settings.hasTranscript ? state.lines : [], texts, state.hasMicrophone);
    this.#consent.hidden = state.stage !== 'consent';
    if (state.stage === 'consent' && settings.consent) {
      const { text, termsUrl, privacyUrl } = settings.consent;
      const links = [
        ...(termsUrl === null ? [] : [link(termsUrl, texts.terms)]),
        ...(privacyUrl === null ? [] : [link(privacyUrl, texts.privacy)]),
      ];
      this.#consent.replaceChildren(
        element('p', {}, text ?? texts.consent),
        element('p', { class: 'links' }, ...links),
      );
    }
  }

  #showControls(state: WidgetState, { settings, texts }: Surroundings): void {
    const running = isRunning(state);
    const canStart = !running && state.stage !== 'consent';
    this.#start.hidden = !canStart;
    this.#startText.data = state.stage === 'ended' ? texts.again : texts.start;
    this.#typed.hidden = !canStart || !settings.hasTextInput;
    put(this.#typed, texts.type);
    this.#accept.hidden = state.stage !== 'consent';
    put(this.#accept, texts.accept);
    this.#mute.hidden =
      !running || !settings.hasMuting || !state.hasMicrophone || state.stage === 'connecting';
    this.#mute.setAttribute('aria-pressed', String(state.isMuted));
    this.#muteText.data = texts.mute;
    this.#end.hidden = !running;
    this.#endText.data = state.stage === 'connecting' ? texts.cancel : texts.end;
    // Without a microphone the visitor can only type, regardless of the page's setting.
    this.#form.hidden =
      !(state.stage === 'connected' || state.stage === 'reconnecting') ||
      (!settings.hasTextInput && state.hasMicrophone);
    this.#input.setAttribute('aria-label', texts.message);
    this.#input.placeholder = texts.message;
    this.#send.setAttribute('aria-label', texts.send);
  }

  #animate(isLive: boolean): void {
    if (!isLive || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      cancelAnimationFrame(this.#frameRequest);
      this.#frameRequest = 0;
      this.#orb.style.removeProperty('--level');
    } else if (this.#frameRequest === 0) this.#beat();
  }

  #beat(): void {
    this.#orb.style.setProperty('--level', this.#actions.level().toFixed(2));
    this.#frameRequest = requestAnimationFrame(() => this.#beat());
  }
}

/** Writes only changes: screen readers would announce a rewritten status or alert again. */
function put(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

function link(href: string, text: string): HTMLAnchorElement {
  return element('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text);
}
