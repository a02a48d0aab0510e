/**
 * Styles of the widget, as a constructed style sheet: content security policies that forbid inline styles
 * allow it.
 */

/** Attached to the element by `adoptedStyleSheets`. Pages can set the custom properties at the top. */
export const STYLES = `
:host {
  --accent: var(--voice-agent-accent, #4338ca);
  --on-accent: var(--voice-agent-accent-text, #fff);
  --orb-1: var(--voice-agent-orb-color-1, #818cf8);
  --orb-2: var(--voice-agent-orb-color-2, #4338ca);
  --radius: var(--voice-agent-radius, 20px);
  --surface: var(--voice-agent-background, #fff);
  --ink: var(--voice-agent-text, #1c1b29);
  --quiet: var(--voice-agent-quiet-text, #595870);
  --line: #dcdbe8;
  --tint: #f2f2fa;
  --danger: #b3261e;
  position: fixed;
  z-index: var(--voice-agent-z-index, 2147483000);
  inset: auto;
  display: flex;
  flex-direction: column;
  align-items: flex-end;
  gap: 12px;
  max-width: calc(100vw - 2 * var(--voice-agent-offset-x, 20px));
  font-family: var(--voice-agent-font, system-ui, sans-serif);
  font-size: 15px;
  line-height: 1.45;
  color: var(--ink);
  text-align: start;
}
:host([hidden]) { display: none; }
:host { bottom: calc(var(--voice-agent-offset-y, 20px) + env(safe-area-inset-bottom, 0px)); right: var(--voice-agent-offset-x, 20px); }
:host([position$='left']) { right: auto; left: var(--voice-agent-offset-x, 20px); align-items: flex-start; }
:host([position^='top']) { bottom: auto; top: calc(var(--voice-agent-offset-y, 20px) + env(safe-area-inset-top, 0px)); flex-direction: column-reverse; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button, input { font: inherit; color: inherit; }
button { min-height: 44px; padding: 0 16px; border: 1px solid var(--line); border-radius: 999px; background: var(--surface); cursor: pointer;
  display: inline-flex; align-items: center; justify-content: center; gap: 8px; }
button:hover { background: var(--tint); }
button:focus-visible, input:focus-visible, a:focus-visible, .log:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.launcher { min-height: 56px; padding: 0 20px 0 8px; box-shadow: 0 6px 24px rgb(0 0 0 / .18); font-weight: 600; }
[dir='rtl'] .launcher { padding: 0 8px 0 20px; }
.start, .accept, .send { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
.start:hover, .accept:hover, .send:hover { background: var(--accent); filter: brightness(1.1); }
.end { background: var(--danger); border-color: var(--danger); color: #fff; font-weight: 600; }
.end:hover { background: var(--danger); filter: brightness(1.1); }
.mute[aria-pressed='true'] { background: var(--ink); color: var(--surface); }
.root { display: contents; }
.bubble { display: flex; align-items: start; gap: 4px; max-width: 300px; padding: 4px 4px 4px 16px; border-radius: var(--radius); background: var(--surface);
  box-shadow: 0 6px 24px rgb(0 0 0 / .18); }
.bubble button { border: 0; min-width: 44px; padding: 0; }
.bubble .message { justify-content: start; text-align: start; padding: 8px 0; }
.panel { display: flex; flex-direction: column; width: 372px; max-width: 100%; max-height: min(640px, calc(100dvh - 120px)); overflow: hidden;
  border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface); box-shadow: 0 12px 48px rgb(0 0 0 / .22); }
header { display: flex; align-items: center; gap: 12px; padding: 12px 8px 12px 16px; border-block-end: 1px solid var(--line); }
header .who { flex: 1; min-width: 0; }
header h2 { margin: 0; font-size: 16px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
header .minimise { border: 0; min-width: 44px; padding: 0; }
.status { margin: 0; color: var(--quiet); font-size: 13px; }
.orb { flex: none; width: 40px; height: 40px; border-radius: 50%; background: radial-gradient(circle at 32% 28%, var(--orb-1), var(--orb-2) 72%);
  transform: scale(calc(.86 + .28 * var(--level, 0))); transition: transform 80ms linear; }
.body { flex: 1; min-height: 0; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 12px; }
.body p { margin: 0; }
.problem { padding: 10px 12px; border-radius: 12px; border-inline-start: 4px solid var(--danger); background: var(--tint); }
.log { display: flex; flex-direction: column; gap: 8px; }
.log p { max-width: 88%; padding: 8px 12px; border-radius: 14px; background: var(--tint); overflow-wrap: anywhere; }
.log p.user { align-self: flex-end; background: var(--accent); color: var(--on-accent); }
.name { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.consent a { color: inherit; }
.links { display: flex; gap: 16px; flex-wrap: wrap; }
.controls { display: flex; flex-wrap: wrap; gap: 8px; padding: 12px 16px; border-block-start: 1px solid var(--line); }
.controls button { flex: 1; }
form { display: flex; gap: 8px; padding: 0 16px 12px; }
input { flex: 1; min-width: 0; min-height: 44px; padding: 0 14px; border: 1px solid var(--quiet); border-radius: 999px; background: var(--surface); }
.send { padding: 0 14px; }
[dir='rtl'] .send svg { transform: scaleX(-1); }
@media (prefers-color-scheme: dark) {
  :host { --surface: var(--voice-agent-background, #1b1a26); --ink: var(--voice-agent-text, #f1f0fa); --quiet: var(--voice-agent-quiet-text, #b3b1c9);
    --line: #3b3a4d; --tint: #2a2939; --danger: #c4362c; }
  button:focus-visible, input:focus-visible, a:focus-visible, .log:focus-visible { outline-color: #a5b4fc; }
}
@media (prefers-reduced-motion: reduce) { .orb { transform: none; transition: none; } }
@media (forced-colors: active) { .orb { border: 2px solid CanvasText; } }
@media (max-width: 480px) {
  :host { max-width: calc(100vw - 24px); }
  :host(:not([position$='left'])) { right: 12px; }
  :host([position$='left']) { left: 12px; }
  .panel { width: calc(100vw - 24px); max-height: calc(100dvh - 96px); }
}
`;
