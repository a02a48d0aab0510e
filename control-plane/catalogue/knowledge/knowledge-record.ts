/** A knowledge source: upload fields and API representation. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { KnowledgeDocument } from '../../platform/store/models/knowledge-model.ts';

/** A file parsed by `upload-form.ts`. */
export interface UploadedText {
  readonly file_name: string;
  readonly content: string;
}

const upload = z
  .custom<UploadedText>(
    (value) => typeof value === 'object' && value !== null && 'content' in value,
    'the form field source must be one file, as in curl -F source=@menu.md',
  )
  .meta({
    type: 'string',
    format: 'binary',
    description: 'A .md or .txt file of UTF-8 plain text, at most 1,048,576 bytes',
  });

const fields = {
  name: z.string().min(1).max(LIMITS.knowledgeNameChars),
  description: z.string().max(LIMITS.knowledgeDescriptionChars),
};

/** Creation form; `name` defaults to the file name. */
export const knowledgeCreate = z.strictObject({
  source: upload,
  name: fields.name.optional(),
  description: fields.description.default(''),
});
export type KnowledgeInput = z.output<typeof knowledgeCreate>;

/** Update form; omitted fields keep their values. */
export const knowledgePatch = z.strictObject({ source: upload, ...fields }).partial();
export type KnowledgePatch = z.output<typeof knowledgePatch>;

/** A row of the list of sources. */
export const knowledgeSummary = z.object({
  knowledge_source_id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  description: z.string(),
  file_name: z.string(),
  size_bytes: z.number().int(),
  chunk_count: z.number().int(),
  revision_number: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** A source with its latest content. */
export const knowledgeRecord = knowledgeSummary.extend({ content: z.string() });

/** Converts a stored object to a list row. */
export function toKnowledgeSummary(source: KnowledgeDocument): z.output<typeof knowledgeSummary> {
  return {
    knowledge_source_id: source._id,
    workspace_id: source.workspace_id,
    name: source.name,
    description: source.description,
    file_name: source.file_name,
    size_bytes: source.size_bytes,
    chunk_count: source.chunk_count,
    revision_number: source.revision_number,
    created_at: source.created_at.toISOString(),
    updated_at: source.updated_at.toISOString(),
  };
}
