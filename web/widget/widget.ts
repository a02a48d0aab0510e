/** `/widget.js`: makes `<voice-agent>` known to the page. A second copy of the script changes nothing. */
import { VoiceAgent } from './voice-agent.ts';

if (!customElements.get('voice-agent')) customElements.define('voice-agent', VoiceAgent);
