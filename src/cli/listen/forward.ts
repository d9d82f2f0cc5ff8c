/** What a receiver answers is shown and relayed, never kept whole in memory beyond this. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** They belong to one connection, or are made anew for the next one. */
const OF_ONE_CONNECTION = [
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

export type Forwarded = { status: number; headers: Headers; body: Uint8Array<ArrayBuffer> };

/** Passes a post on with the same bytes and headers; answers what came back, or why nothing did. */
export async function forwardPost(
  target: string,
  headers: Headers,
  body: Uint8Array<ArrayBuffer>,
): Promise<Forwarded | { error: string }> {
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: withoutConnection(headers),
      body,
      redirect: 'manual',
      decompress: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = await readCapped(response);
    if (answer === null) return { error: `it answered more than ${MAX_ANSWER_BYTES} bytes` };
    return { status: response.status, headers: withoutConnection(response.headers), body: answer };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function withoutConnection(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of OF_ONE_CONNECTION) kept.delete(name);
  return kept;
}

async function readCapped(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
