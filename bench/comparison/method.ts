/** The section of the page that says how the comparison was made. */

/** The text, without figures of a run. */
export const METHOD = `## Method

- **Caller.** \`caller/room-caller.ts\`, a participant in the room with LiveKit's own library, in a process
  of its own. Media of a room is encrypted, so times are those at which this process sent and received
  blocks of 10 ms. Both directions of the room are in every figure, for every side.
- **Rounds.** In each round every side is started, plays one call that is not counted, then all scenes,
  some at a time, and is stopped before the next one starts. The order of the sides moves by one with every
  round. So no two sides share the machine, and a noisy minute hurts no side alone.
- **Voices.** The voice changes with the round: two of Flite's, then eSpeak's. In the scene of questions
  two voices share one telephone. All are synthetic. There are no recordings of people, because none is
  free to pass on among the packages that this repository uses.
- **Sides.** Parley has the waits of LiveKit's end-of-turn model, which are not its defaults, and otherwise
  its defaults. Each other side is built as its documentation shows, with its defaults: LiveKit's by explicit
  dispatch in production mode (\`bench/comparison/livekit-agent/agent.ts\`,
  \`python-agents/livekit_agent.py\`), Pipecat's by its runner (\`python-agents/pipecat_agent.py\`). *By
  speech alone* replaces only what decides that the caller has finished: no model that may misjudge
  synthetic voices takes part. LiveKit's better end-of-turn model and its adaptive interruption need
  LiveKit Cloud and are not compared. Models came with the packages.
- **Limits.** LiveKit's framework refuses calls above 70 % of the machine's CPU. That is switched off,
  because caller and engines run on the same machine.
- **Engines.** Each side has its own stand-ins with the vendors' protocols: 150 ms to the first byte of
  model and voice, 15 ms for each piece, 150 ms for every transcript. The recogniser knows the script and
  finds it in the audio. It honours the \`endpointing\` that each side requests (Parley 300 ms, LiveKit's
  plugins 25 ms, Pipecat's service Deepgram's default of 10 ms). It does not take the television for the
  caller. The voice is a tone of 330 ms for each word, so that the words heard can be counted.
- **Synthesis.** LiveKit's OpenAI plugin for JavaScript waits for the whole audio of a sentence before it
  plays any of it. The others play it as it arrives. That is part of the difference between the answers.
- **Failing engines.** No side was given a second engine. Parley finds the voice on its own machine by
  itself. It would also use the recogniser or model of another vendor with a key, but there is none here.
  The frameworks have adapters for that, which an agent must use explicitly.
- **Interruptions.** For the first three seconds of its speech, LiveKit's framework ignores the caller
  (echo cancellation warm-up). The scenes interrupt later.
- **Pauses.** A sound pauses Parley once it is long enough to be the start of an interruption. Parley
  continues 200 ms after the sound has ended, when the words have shown that it was none. So such a pause
  lasts about as long as the sound.
- **Packet loss** is real: the kernel drops packets to the LiveKit server's media port, from the caller and
  from the agent.
- **End of turn.** Parley judges the words, the models of the others the audio. The callers speak the script's
  words, and their voices are synthetic, so this favours Parley: a model that hears no end of turn in such a
  voice answers after its longest silence. The line of answers within 1.5 s counts the others. Human voices
  may suit the models better.
- **Load.** Every call asks three questions; calls begin 300 ms apart. A side holds its calls if all are
  connected and answered, with the slowest twentieth at most 1 s slower than with one call. Callers and
  engines share the cores with the side, so the numbers compare the sides; a machine without callers holds
  more.
- **Processes.** LiveKit's framework runs each call in a process of its own, started in advance. That
  isolates calls and costs memory. Pipecat's runner runs all calls in one process; its hosted platform
  gives each call one. Parley runs calls beside each other in one worker. Its figures include control
  plane, store, recording and phone signalling, which the frameworks do not have.
- **Memory** counts shared pages once (Pss). CPU time is that of every process of a side, including those
  that start and end with a call.
- **Transcripts.** A positive number means that the transcript has more words than were heard. No side gets
  word times from this voice. Parley recognises that a tone is no speech, and then goes by letters and time.
- **Wins.** Another side is better where its figure over all rounds is better by more than noise (50 ms, or
  100 ms at p95; 5 % of the cases, or 2.5 % of unanswered questions; 0.3 words, 0.5 CPU seconds, 5 MiB), and
  in no round worse. Costs are measured once, so chance may decide small differences there.
- **Numbers in brackets** after times are how many there are. The p95 of a few is little more than the worst.`;
