/** What an entity asked a source to read, and what to make of it. */
export type SourceDefinition = Readonly<Record<string, unknown>>;
