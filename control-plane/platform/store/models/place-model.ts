/** Holders of an owner's counted places; see `counted-places.ts`. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** One occupied place. */
export interface PlaceHolder {
  /** Id of the document that occupies it. */
  id: string;
  at: Date;
  /** Bytes it uses, if bytes are counted. */
  bytes?: number;
}

/** An owner's places of one kind. */
export interface PlacesDocument {
  /** `<kind>:<owner>` */
  _id: string;
  holders: PlaceHolder[];
  /** Total bytes, if bytes are counted. */
  total?: number;
}

/** Defines the model on a connection. */
export const definePlaces = modelOf<PlacesDocument>('Places', () => {
  const holders = { type: [Schema.Types.Mixed], default: [] } as never;
  const schema = new Schema<PlacesDocument>(
    { _id: { type: String, required: true }, holders, total: { type: Number } },
    { collection: 'places', versionKey: false },
  );
  return schema;
});
