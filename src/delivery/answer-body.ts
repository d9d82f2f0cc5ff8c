/** Read no further than this: enough for any honest answer, and it lets the connection be used again. */
const READ_MAX_BYTES = 16 * 1024;
/** Kept for the log: what a person needs to see why a post was turned down. */
const KEPT_MAX_BYTES = 1024;

/**
 * The beginning of an answer's body, as text that every database takes.
 *
 * Rejects when the body breaks off or does not end in time, also after a 2xx status: such a status may come from
 * something in between that died with the receiver behind it. A post sent twice is known by its id; one that is
 * reported received and was not is lost.
 */
export async function readAnswer(response: Response): Promise<string> {
  if (saysShort(response.headers)) {
    const bytes = await response.bytes();
    return toStorableText(bytes.subarray(0, KEPT_MAX_BYTES), bytes.length);
  }
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const kept = new Uint8Array(KEPT_MAX_BYTES);
  let readBytes = 0;
  while (readBytes < READ_MAX_BYTES) {
    const { done, value } = await reader.read();
    if (done) return toStorableText(kept, readBytes);
    if (readBytes < KEPT_MAX_BYTES) kept.set(value.subarray(0, KEPT_MAX_BYTES - readBytes), readBytes);
    readBytes += value.length;
  }
  // The rest is not wanted, so whether the connection closes well is of no interest.
  reader.cancel().catch(() => {});
  return toStorableText(kept, readBytes);
}

/** It gives its length, and keeps to it: most answers do, and read at once they cost half as much as piece by piece. */
function saysShort(headers: Headers): boolean {
  const length = headers.get('content-length');
  return length !== null && Number(length) <= READ_MAX_BYTES && !headers.has('transfer-encoding');
}

const decoder = new TextDecoder();

/** PostgreSQL takes neither broken UTF-8 nor NUL, and one such answer would fail a whole batch of writes. */
function toStorableText(kept: Uint8Array, readBytes: number): string {
  const wasCut = readBytes > KEPT_MAX_BYTES;
  const text = wasCut
    ? // As a stream, so that a character split by our own cut is left out and not marked as broken.
      new TextDecoder().decode(kept.subarray(0, readBytes), { stream: true })
    : decoder.decode(kept.subarray(0, readBytes));
  return text.replaceAll('\0', '');
}
