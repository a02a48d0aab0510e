/** Who holds the counted places of an owner; see `places.ts`. */
import { type Connection, type Model, Schema } from 'mongoose';

/** One place that is taken. */
export interface PlaceHolder {
  /** Id of the document that holds it. */
  id: string;
  at: Date;
  /** What it takes, where bytes are counted. */
  bytes?: number;
}

/** The places of one kind that belong to one owner. */
export interface PlacesDocument {
  /** `<kind>:<owner>` */
  _id: string;
  holders: PlaceHolder[];
  /** Sum of their bytes, where bytes are counted. */
  total?: number;
}

/** Defines the model on a connection. */
export function definePlaces(connection: Connection): Model<PlacesDocument> {
  const holders = { type: [Schema.Types.Mixed], default: [] } as never;
  const schema = new Schema<PlacesDocument>(
    { _id: { type: String, required: true }, holders, total: { type: Number } },
    { collection: 'places', versionKey: false },
  );
  return connection.model<PlacesDocument>('Places', schema);
}
