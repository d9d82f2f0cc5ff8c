import type { Dialect, Queries } from '../database.ts';

/** Forward only. All statements run in one transaction with those of every other migration that is missing. */
export type Migration = {
  version: number;
  name: string;
  statements: readonly string[] | ((dialect: Dialect) => readonly string[]);
  /** For what SQL alone cannot do, such as hashing; runs after the statements, in the same transaction. */
  convert?: (queries: Queries, dialect: Dialect) => Promise<void>;
};
