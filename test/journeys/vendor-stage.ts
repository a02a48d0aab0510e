/** A product whose model and recogniser are a stand-in of a vendor, shared by several journeys. */
import type { ChatBody, ChatScript, OpenaiServer } from '#test/fakes/openai-server.ts';
import type { OtlpReceiver } from '#test/fakes/otlp-receiver.ts';
import type { Product } from './product.ts';

/** The transcript that the vendor's stand-in returns for every recording. */
export const HEARD = 'I would like to book a table.';

/** Set before the first test; each journey says what the model answers in it. */
export interface VendorStage {
  product: Product;
  vendor: OpenaiServer;
  /** Receives the traces, with content. */
  collector: OtlpReceiver;
  answer: (body: ChatBody) => ChatScript;
}
