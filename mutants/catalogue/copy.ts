import type { Mutant } from '../mutant.ts';

/** Copying a store to another engine. */
export const copy: readonly Mutant[] = [
  {
    name: 'serve-unfinished-copy',
    what: 'starts on a store into which only a part was copied',
    file: 'store/open-store.ts',
    find: 'await requireNoCopy(db);',
    replace: '',
    caughtBy: { file: 'store/copy/copy.long', test: 'goes on where it was cut off' },
  },
  {
    name: 'copy-without-checksum',
    what: 'compares only the counts of a copied table',
    file: 'store/copy/copy.ts',
    find: 'if (found.rows !== expected.rows || found.checksum !== expected.checksum) {',
    replace: 'if (found.rows !== expected.rows) {',
    caughtBy: { file: 'store/copy/copy.long', test: 'that differs in one value names the table' },
  },
  {
    name: 'copy-source-unlocked',
    what: 'lets commands change the store while it is copied',
    file: 'store/copy/source.ts',
    find: `connection.exec('begin immediate');`,
    replace: `connection.exec('begin');`,
    caughtBy: { file: 'store/copy/copy.long', test: 'keeps every server and every change away from its source' },
  },
];
