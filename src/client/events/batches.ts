export const NDJSON_TYPE = 'application/x-ndjson';

/** The service's limits on one batch. */
const MAX_BATCH_LINES = 1_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Bodies in NDJSON, each of the size that the service allows. */
export function* toBatches(items: Iterable<unknown>): Generator<string, void, undefined> {
  const encoder = new TextEncoder();
  let lines: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const line = JSON.stringify(item);
    const size = encoder.encode(line).length + 1;
    if (lines.length > 0 && (lines.length === MAX_BATCH_LINES || bytes + size > MAX_BATCH_BYTES)) {
      yield lines.join('\n');
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += size;
  }
  if (lines.length > 0) yield lines.join('\n');
}
