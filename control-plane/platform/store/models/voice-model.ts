/** Voice models that users created from voice samples. The samples are stored as blobs. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A sample; its audio is the blob `voices/<model>/sample-<index>`. */
export interface VoiceSample {
  title: string;
  text: string;
}

/** A voice model. */
export interface VoiceDocument {
  _id: string;
  team_id: string;
  author_id: string;
  author_name: string;
  title: string;
  description: string;
  visibility: 'public' | 'unlist' | 'private';
  tags: string[];
  languages: string[];
  samples: VoiceSample[];
  has_cover_image: boolean;
  /** The engine voice that speaks for this model. */
  engine_voice_id: string;
  /** True if the engine cloned the voice from the samples; false if it is one of the engine's own. */
  is_cloned: boolean;
  task_count: number;
  created_at: Date;
  updated_at: Date;
}

/** Defines the model on a connection. */
export const defineVoices = modelOf<VoiceDocument>('VoiceModel', () => {
  const schema = new Schema<VoiceDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      author_id: { type: String, required: true },
      author_name: { type: String, default: '' },
      title: { type: String, required: true },
      description: { type: String, default: '' },
      visibility: { type: String, required: true },
      tags: { type: [String], default: [] },
      languages: { type: [String], default: [] },
      samples: { type: [{ _id: false, title: String, text: String }], default: [] },
      has_cover_image: { type: Boolean, default: false },
      engine_voice_id: { type: String, required: true },
      is_cloned: { type: Boolean, default: false },
      task_count: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    { collection: 'voice_models', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ visibility: 1, created_at: -1, _id: -1 });
  return schema;
});
