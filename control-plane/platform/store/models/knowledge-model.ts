/**
 * Knowledge sources: plain text that agents can draw on. Each replacement of the content creates a revision.
 * Contents are stored separately, so that listing and renaming never touch up to a megabyte of text, and old
 * revisions are kept for the versions that pin them.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A source, without its content. */
export interface KnowledgeDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  name: string;
  description: string;
  file_name: string;
  size_bytes: number;
  chunk_count: number;
  revision_number: number;
  /** The newest revision of the content. */
  revision_id: string;
  created_at: Date;
  updated_at: Date;
  /** Set while a deletion is in progress; see `references.ts`. */
  deleting_at?: Date;
}

/** The content of one revision; immutable. */
export interface KnowledgeRevisionDocument {
  _id: string;
  knowledge_source_id: string;
  content: string;
  /** Time since which the source has used another revision; meaningless while it still uses this one. */
  unused_since: Date;
}

/** Defines the model of sources on a connection. */
export const defineKnowledge = modelOf<KnowledgeDocument>('KnowledgeSource', () => {
  const schema = new Schema<KnowledgeDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      name: { type: String, required: true },
      description: { type: String, default: '' },
      file_name: { type: String, required: true },
      size_bytes: { type: Number, required: true },
      chunk_count: { type: Number, required: true },
      revision_number: { type: Number, required: true },
      revision_id: { type: String, required: true },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
      deleting_at: { type: Date },
    },
    { collection: 'knowledge_sources', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});

/** Defines the model of revisions on a connection. */
export const defineKnowledgeRevisions = modelOf<KnowledgeRevisionDocument>('KnowledgeRevision', () => {
  const schema = new Schema<KnowledgeRevisionDocument>(
    {
      _id: { type: String, required: true },
      knowledge_source_id: { type: String, required: true },
      content: { type: String, required: true },
      unused_since: { type: Date, required: true },
    },
    { collection: 'knowledge_revisions', versionKey: false },
  );
  schema.index({ knowledge_source_id: 1, unused_since: 1 });
  return schema;
});
