import type { Dialect } from '../database.ts';

/** Forward only. All statements run in one transaction, together with the statements of every other missing migration. */
export type Migration = {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[] | ((dialect: Dialect) => readonly string[]);
};
