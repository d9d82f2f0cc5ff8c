import { Database as Connection } from 'bun:sqlite';

/** In KiB. Transactions read and change the same pages again and again. */
const WRITER_CACHE = 8_000;
/** In KiB, for each of the three readers: a page that none of them has comes from the cache of the system. */
const READER_CACHE = 2_000;

/** Waiting within SQLite blocks its thread, so it is brief, and the writer tries again after a pause. */
const BUSY_TIMEOUT_MS = 20;

export function openWriter(file: string): Connection {
  const connection = open(file, WRITER_CACHE);
  // Auto-vacuum can be turned on only before the first page is written, and so before WAL.
  connection.exec('pragma auto_vacuum = incremental');
  connection.exec('pragma journal_mode = wal');
  connection.exec('pragma synchronous = full');
  connection.exec('pragma foreign_keys = on');
  // In pages: four times the default, because a page that was written several times is then copied once.
  connection.exec('pragma wal_autocheckpoint = 4000');
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return connection;
}

/** Opens a file that a writer has opened before. It changes nothing, so it works even on a full disk. */
export function openReader(file: string): Connection {
  const connection = open(file, READER_CACHE);
  connection.exec('pragma query_only = on');
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return connection;
}

function open(file: string, cacheKib: number): Connection {
  const connection = new Connection(file, { create: true, readwrite: true });
  connection.exec('pragma busy_timeout = 5000');
  connection.exec('pragma temp_store = memory');
  connection.exec(`pragma cache_size = -${cacheKib}`);
  return connection;
}
