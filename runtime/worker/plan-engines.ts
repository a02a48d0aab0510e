/** Creates the engines a plan names: recogniser, synthesiser, language model, tools and knowledge. */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import type { VendorMeters } from '#config/vendor-meters.ts';
import { CustomSpeech } from '#media/speech/custom/custom-speech.ts';
import type { OwnEngine, SpeechEngines } from '#media/speech/engines.ts';
import { recordedVoice } from '#media/speech/recorded-voice.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { CallDeps, ToolsLink } from '../calls/call.ts';
import type { CallKnowledge, KnowledgeSearch } from '../knowledge/knowledge-search.ts';
import { createLanguageModel } from '../llm/create-language-model.ts';
import type { LanguageModel } from '../llm/llm.ts';
import { createClientTools } from '../tools/client-tool.ts';
import { ServerTools } from '../tools/server-tools.ts';
import { createToolRunner } from '../tools/tool-runner.ts';
import type { CallTools } from '../turn/loop/running-tools.ts';
import { fetchRecording } from './voicemail-recording.ts';

/** The engines, the model and the tools of one call. */
export type CallEngines = Pick<
  CallDeps,
  'recognizer' | 'synthesizer' | 'recordedVoicemail' | 'model' | 'knowledge' | 'createTools'
>;

/** Dependencies of engines. */
export interface PlanEnginesDeps {
  readonly settings: Settings;
  readonly speech: Pick<SpeechEngines, 'callRecognizer' | 'callSynthesizer'>;
  readonly knowledge: Pick<KnowledgeSearch, 'open'>;
  readonly egress: EgressGuard;
  readonly clock: Clock;
  /** A clock for vendors' deadlines that allows for delays of our own event loop. */
  readonly vendorClock: Clock;
  readonly logger: Logger;
  /** Absent: requests are not measured. */
  readonly vendors?: VendorMeters | undefined;
}

/** The engines of one worker. */
export class PlanEngines {
  readonly #deps: PlanEnginesDeps;
  readonly #customSpeech: CustomSpeech;
  /** Tokens of tool servers, kept from call to call. */
  readonly serverTokens: McpTokens;

  constructor(deps: PlanEnginesDeps) {
    this.#deps = deps;
    this.serverTokens = new McpTokens(deps.clock);
    this.#customSpeech = new CustomSpeech({ egress: deps.egress, clock: deps.vendorClock });
  }

  /** Throws when an engine of the plan cannot be created. */
  forCall(plan: CallPlan): CallEngines {
    const { speech, knowledge, vendorClock } = this.#deps;
    const { asr, voice } = plan.config;
    const language = voice.speaking_language;
    const synthesizer = speech.callSynthesizer(voice.voice_id, language, this.#ownSynthesizer(plan));
    return {
      recognizer: speech.callRecognizer(asr.model, language, this.#ownRecognizer(plan)),
      synthesizer,
      recordedVoicemail: this.#recordedVoicemail(plan, synthesizer),
      model: createLanguageModel({ ...this.#deps, plan, clock: vendorClock }),
      knowledge: knowledge.open(plan),
      createTools: (link) => this.#toolsOf(plan, link),
    };
  }

  /** A model for work without a caller. */
  modelFor(plan: Pick<CallPlan, 'config' | 'llm_api_key' | 'local_models'>): LanguageModel {
    return createLanguageModel({ ...this.#deps, plan });
  }

  /** The same, without another model that would answer in its place. */
  modelAlone(plan: Pick<CallPlan, 'config' | 'llm_api_key' | 'local_models'>): LanguageModel {
    return createLanguageModel({ ...this.#deps, plan, isAlone: true });
  }

  /** The searchable knowledge of work without a caller; a search takes at most `budgetMs`. */
  knowledgeFor(plan: Pick<CallPlan, 'config' | 'knowledge'>, budgetMs: number): CallKnowledge | null {
    return this.#deps.knowledge.open(plan, budgetMs);
  }

  /** Fetched while it rings, if a mailbox would hear it. */
  #recordedVoicemail({ automated_lines: lines, config }: CallPlan, other: Synthesizer): Synthesizer | null {
    const url = lines?.voicemail_recording_url ?? '';
    const { amd_enabled, voicemail } = config.conversation.outbound;
    return url === '' || !amd_enabled || voicemail.action !== 'leave_message'
      ? null
      : recordedVoice(fetchRecording(url, this.#deps), other);
  }

  #ownRecognizer({ agent_id, custom_speech }: CallPlan): OwnEngine<Recognizer> | undefined {
    const own = custom_speech?.asr;
    return own && { engine: this.#customSpeech.recognizer(agent_id, own), hasFallback: own.fallback };
  }

  #ownSynthesizer({ agent_id, custom_speech }: CallPlan): OwnEngine<Synthesizer> | undefined {
    const own = custom_speech?.tts;
    return own && { engine: this.#customSpeech.synthesizer(agent_id, own), hasFallback: own.fallback };
  }

  #toolsOf(plan: CallPlan, link: ToolsLink): CallTools {
    const { egress, clock, logger } = this.#deps;
    const clientTools = plan.channel === 'web_voice' ? createClientTools((event) => link.send(event)) : null;
    const { tool_servers: servers, system_variables: systemVariables } = plan;
    const values = () => ({ variables: link.variables(), systemVariables });
    const { serverTokens: tokens } = this;
    const serverTools =
      servers.length === 0 ? null : new ServerTools({ servers, values, egress, tokens, clock, logger });
    // While the phone rings; no greeting waits for it.
    serverTools?.start();
    const runner = createToolRunner({
      tools: plan.tools,
      variables: () => link.variables(),
      systemVariables,
      egress,
      clientTools,
      serverTools,
      clock,
    });
    return { runner, settle: clientTools ? (result) => clientTools.settle(result) : null };
  }
}
