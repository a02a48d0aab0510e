/**
 * `/widget.js`: defines `<voice-agent>` once the page has loaded. A second copy of the script has no effect.
 */
import { whenPageIsReady } from './page-ready.ts';
import { VoiceAgent } from './voice-agent.ts';

whenPageIsReady(() => {
  if (!customElements.get('voice-agent')) customElements.define('voice-agent', VoiceAgent);
});
