/**
 * `/widget.js`: makes `<voice-agent>` known to the page, once the page itself has loaded. A second copy of
 * the script changes nothing.
 */
import { whenPageIsReady } from './page-ready.ts';
import { VoiceAgent } from './voice-agent.ts';

whenPageIsReady(() => {
  if (!customElements.get('voice-agent')) customElements.define('voice-agent', VoiceAgent);
});
